"""The Python functions of ExecuTorch's generator of kernel sources, on the data model of torchgen."""
