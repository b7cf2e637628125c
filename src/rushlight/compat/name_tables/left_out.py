"""The parts of ExecuTorch that Rushlight does not have, with reasons, which error messages contain."""

from __future__ import annotations

# By prefix of a module name: a text that continues the sentence "... is not part of Rushlight: it is ...".
LEFT_OUT: dict[str, str] = {
    "executorch.devtools.bundled_program.util": "models and comparisons of ExecuTorch's "
    "tests; add a folder with these files to the `__path__` of the module",
    "executorch.devtools.inspector.vgf_neural_statistics": "statistics of Arm's VGF backend, which "
    "needs Arm's ML SDK for Vulkan",
    "executorch.backends.xnnpack.partition.config.quant_affine_configs": "configurations that preserve "
    "torchao's affine operators; the compiler replaces these by quantize and dequantize operators",
    "executorch.exir.backend.test": "ExecuTorch's tests; add a folder with these files to the `__path__` of "
    "the module",
    **{
        f"executorch.{name}": "code for FlatBuffers that ExecuTorch's build generates; "
        "executorch.exir._serialize reads and writes programs without it"
        for name in (
            "exir._serialize.generated",
            "exir._serialize.generate_program",
            "exir._serialize._flatbuffer",
            "devtools.bundled_program.serialize.generated",
            "devtools.bundled_program.serialize.generate_bundled_program",
        )
    },
    **{
        f"executorch.exir.serde.{name}": "ExecuTorch's copy of torch's schema of exported programs; "
        "executorch.exir.save and load write and read such files"
        for name in ("schema", "schema_check", "union")
    },
    "executorch.exir.capture._unlift": "a part of ExecuTorch's former tracer; "
    "ExportedProgram.module() has parameters as attributes",
    "executorch.exir.graph": "the graph of ExecuTorch's former tracer; use torch.export.export",
    "executorch.exir.wrap": "a part of ExecuTorch's former tracer; use torch.export.export",
    "executorch.exir.operator.manip": "a set of operator attributes that ExecuTorch's compiler does not read",
    "executorch.backends.example": "an example of ExecuTorch; add the folder that contains it to the "
    "`__path__` of `executorch.backends`",
    "executorch.backends.transforms.fuse_conv_with_clamp": "a pass for ExecuTorch's Vulkan backend; "
    "the backends of Rushlight fuse convolutions with clamps themselves",
    "executorch.backends.xnnpack.operators": "a set of functions that write XNNPACK's graphs inside of "
    "ExecuTorch's backend; XnnpackBackend writes the same graphs",
    "executorch.exir.control_flow": "control flow of ExecuTorch's former tracer; use torch.cond",
    **{
        f"executorch.exir.tracer.{name}": "ExecuTorch's former tracer; use torch.export.export"
        for name in (
            "DispatchTracer",
            "DummyProxy",
            "PythonTensor",
            "dispatch_trace",
            "dynamo_trace",
            "flatten_output",
            "flattened_dispatch_trace",
            "get_stacktrace",
            "single_return",
            "tree_return",
            "unwrap_functional",
            "unwrap_proxy",
            "using_dynamo",
            "using_tracer",
        )
    },
    "executorch.exir.dialects.edge.dtype": "a part of a generator of ExecuTorch's tables of dtypes",
    "executorch.exir.dialects.edge.arg": "a generator of sample inputs of ExecuTorch's tables of dtypes",
    "executorch.exir.dialects.edge.spec": "a generator of ExecuTorch's tables of dtypes",
    "executorch.exir.verification.interpreter": "an interpreter that needs an extension of ExecuTorch's "
    "tests; executorch.extension.pybindings.aten_lib runs programs with torch's kernels",
    "executorch.codegen": "a part of the generator of C++ sources for ExecuTorch's build; the CMake "
    "functions generate_bindings_for_kernels and gen_operators_lib generate sources for Rushlight",
    "executorch.examples": "a folder of ExecuTorch's examples; add the folder that contains it to the "
    "`__path__` of `executorch`",
    "executorch.extension.training.examples.CIFAR": "a folder of ExecuTorch's examples; add the folder that "
    "contains it to the `__path__` of `executorch.extension.training.examples`",
    "executorch.extension.llm.custom_ops.model_sharding": "a division of models for Qualcomm's backend",
    "executorch.extension.llm.custom_ops.op_fallback": "an operator for the division of models for "
    "Qualcomm's backend",
    "executorch.extension.llm.modules": "a set of modules for models of torchtune",
    **{
        f"executorch.extension.llm.export.{name}": "a part of loading quantized checkpoints (MX, "
        "NVFP4), whose operators only ExecuTorch's backends for CUDA and MLX run; quantize_model_ of "
        "extension.llm.export.quantize and quantize_model of extension.llm.export.quant quantize models"
        for name in ("mx", "nvfp4")
    },
    "executorch.extension.llm": "a part of the tokenizers or export tools of language models; the page "
    "executorch.md of the documentation says which modules exist",
}

# By prefix of a module name: a text that continues "... is not part of Rushlight: it would need ...".
VENDORS: dict[str, str] = {
    "executorch.backends.aoti": "a compiler of AOTInductor for the device",
    "executorch.backends.apple": "Apple's Core ML tools (coremltools), or MLX or Metal of macOS",
    "executorch.backends.arm": "Arm's tosa-tools, and the Vela compiler or the ML SDK for Vulkan",
    "executorch.backends.cadence": "Cadence's Xtensa tools, and kernels of its DSP libraries",
    "executorch.backends.cortex_m": "Arm's CMSIS-NN kernels for Cortex-M",
    "executorch.backends.cuda": "NVIDIA's CUDA toolkit, and AOTInductor with Triton",
    "executorch.backends.mediatek": "MediaTek's NeuroPilot SDK (mtk_converter, mtk_neuron)",
    "executorch.backends.mlx": "Apple's MLX",
    "executorch.backends.nxp": "NXP's eIQ Neutron SDK (neutron_converter)",
    "executorch.backends.openvino.quantizer": "NNCF",
    "executorch.backends.qualcomm": "Qualcomm's AI Engine Direct (QNN) SDK",
    "executorch.backends.samsung": "Samsung's Exynos AI LiteCore (ENN) SDK",
    "executorch.backends.vulkan": "a Vulkan device, and a compiler of its shaders (glslc)",
    "executorch.backends.webgpu": "a WebGPU implementation such as Dawn",
}
