package org.rushlight;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/** Uses scale.pte, whose methods are forward(x[2, 3], k: int) = (x * 2, k) and plus(x[2, 3]) = x + 1. */
public class ModuleTest {
  private static final long[] SHAPE = {2, 3};

  private static Path program() {
    return ProgramsTest.root().resolve("scale.pte");
  }

  private static Module load() {
    return Module.load(program().toString());
  }

  private static EValue ones() {
    return EValue.from(Tensor.fromBlob(new float[] {1, 1, 1, 1, 1, 1}, SHAPE));
  }

  private static float first(EValue[] results) {
    return results[0].toTensor().getDataAsFloatArray()[0];
  }

  private static <E extends Throwable> E fails(Class<E> kind, String message, ThrowingRunnable action) {
    final E error = assertThrows(kind, action);
    assertTrue(error.getMessage(), error.getMessage().contains(message));
    return error;
  }

  @Test
  public void describesTheProgram() {
    try (Module module = load()) {
      final String[] names = module.getMethods();
      Arrays.sort(names);
      assertArrayEquals(new String[] {"forward", "plus"}, names);
      final MethodMetadata forward = module.getMethodMetadata("forward");
      assertEquals("forward", forward.getName());
      assertArrayEquals(new int[] {MethodMetadata.TAG_TENSOR, MethodMetadata.TAG_INT}, forward.getInputTags());
      assertArrayEquals(new int[] {MethodMetadata.TAG_TENSOR, MethodMetadata.TAG_INT}, forward.getOutputTags());
      assertArrayEquals(new String[0], forward.getBackends());
      final RushlightRuntimeException error =
          fails(RushlightRuntimeException.class, "backward", () -> module.getMethodMetadata("backward"));
      assertEquals(RushlightRuntimeException.NOT_FOUND, error.getErrorCode());
    }
  }

  @Test
  public void namesEachBackendOnce() {
    final Path digits = ProgramsTest.root().resolve("digits_float32_True/program.pte");
    try (Module module = Module.load(digits.toString())) {
      assertArrayEquals(new String[] {"CpuBackend"}, module.getMethodMetadata("forward").getBackends());
    }
  }

  @Test
  public void runsMethods() {
    try (Module module = load()) {
      module.loadMethod("plus");
      assertEquals(2, first(module.execute("plus", ones())), 0);
      final EValue[] results = module.forward(ones(), EValue.from(7));
      assertEquals(2, first(results), 0);
      assertEquals(7, results[1].toInt());
      assertEquals(4, first(module.forward(results)), 0);
    }
  }

  @Test
  public void loadsFromBytes() throws IOException {
    final byte[] bytes = Files.readAllBytes(program());
    final ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length + 3);
    direct.position(3);
    direct.put(bytes).position(3);
    try (Module copied = Module.load(bytes, 1);
        Module inPlace = Module.load(direct, 2)) {
      Arrays.fill(bytes, (byte) 0);
      assertEquals(2, first(copied.execute("plus", ones())), 0);
      assertEquals(2, first(inPlace.execute("plus", ones())), 0);
    }
    fails(IllegalArgumentException.class, "not a direct buffer", () -> Module.load(ByteBuffer.allocate(9), 0));
    fails(IllegalArgumentException.class, "program is null", () -> Module.load((byte[]) null, 0));
  }

  @Test
  public void wrongInputsAreNamed() {
    try (Module module = load()) {
      final Class<RushlightRuntimeException.RushlightInvalidArgumentException> wrong =
          RushlightRuntimeException.RushlightInvalidArgumentException.class;
      final int code = fails(wrong, "2 inputs, but 1 is given", () -> module.forward(ones())).getErrorCode();
      assertEquals(RushlightRuntimeException.INVALID_ARGUMENT, code);
      fails(
          wrong,
          "input 0",
          () -> module.execute("plus", EValue.from(Tensor.fromBlob(new float[4], new long[] {2, 2}))));
      fails(wrong, "input 0", () -> module.execute("plus", EValue.from(Tensor.fromBlob(new int[6], SHAPE))));
      final RushlightRuntimeException type =
          fails(RushlightRuntimeException.class, "input 1", () -> module.forward(ones(), ones()));
      assertEquals(RushlightRuntimeException.INVALID_TYPE, type.getErrorCode());
      fails(
          RushlightRuntimeException.class, "input 0", () -> module.execute("plus", EValue.from("\ud83d\ude00 text")));
      fails(IllegalArgumentException.class, "input 1 of forward is null", () -> module.forward(ones(), null));
      fails(IllegalArgumentException.class, "inputs is null", () -> module.forward((EValue[]) null));
      fails(IllegalArgumentException.class, "methodName is null", () -> module.execute(null));
      fails(IllegalArgumentException.class, "NUL", () -> module.execute("for\0ward"));
      fails(RushlightRuntimeException.class, "\u00e9\ud83d\ude00", () -> module.execute("\u00e9\ud83d\ude00"));
      assertEquals(2, first(module.execute("plus", ones())), 0);
    }
  }

  @Test
  public void wrongFilesAreErrors() throws IOException {
    final RushlightRuntimeException missing =
        fails(RushlightRuntimeException.class, "absent.pte", () -> Module.load("absent.pte"));
    assertEquals(RushlightRuntimeException.ACCESS_FAILED, missing.getErrorCode());
    final byte[] bytes = Files.readAllBytes(program());
    final RushlightRuntimeException damaged =
        assertThrows(RushlightRuntimeException.class, () -> Module.load(Arrays.copyOf(bytes, 300), 0));
    assertEquals(RushlightRuntimeException.INVALID_PROGRAM, damaged.getErrorCode());
    assertThrows(RushlightRuntimeException.class, () -> Module.load(new byte[0], 0));
    fails(IllegalArgumentException.class, "loadMode is 2", () -> Module.load(program().toString(), 2));
    fails(IllegalArgumentException.class, "numThreads is -1", () -> Module.load(program().toString(), 0, -1));
  }

  @Test
  public void aDestroyedModuleIsAnError() {
    final Module module = load();
    module.destroy();
    module.destroy();
    fails(IllegalStateException.class, "was destroyed", () -> module.execute("plus", ones()));
    fails(IllegalStateException.class, "was destroyed", () -> module.loadMethod("plus"));
    fails(IllegalStateException.class, "was destroyed", module::getMethods);
    fails(IllegalStateException.class, "was destroyed", () -> module.getMethodMetadata("plus"));
  }

  @Test
  public void outputsOutliveTheModule() {
    final Tensor result;
    try (Module module = load()) {
      result = module.execute("plus", ones())[0].toTensor();
      module.execute("plus", EValue.from(Tensor.zeros(SHAPE, DType.FLOAT)));
    }
    assertArrayEquals(new float[] {2, 2, 2, 2, 2, 2}, result.getDataAsFloatArray(), 0);
  }

  @Test
  public void threadsShareAModule() throws Exception {
    final ExecutorService executor = Executors.newFixedThreadPool(4);
    try (Module module = load()) {
      final List<Future<Void>> done = new ArrayList<>();
      for (int thread = 0; thread < 4; ++thread) {
        final float value = thread;
        final Callable<Void> task =
            () -> {
              final float[] data = new float[6];
              Arrays.fill(data, value);
              for (int i = 0; i < 500; ++i) {
                assertEquals(
                    value + 1, first(module.execute("plus", EValue.from(Tensor.fromBlob(data, SHAPE)))), 0);
              }
              return null;
            };
        done.add(executor.submit(task));
      }
      for (Future<Void> future : done) future.get();
    } finally {
      executor.shutdown();
    }
  }

  @Test
  public void destroyWaitsForRunsOfOtherThreads() throws Exception {
    final ExecutorService executor = Executors.newSingleThreadExecutor();
    try {
      for (int round = 0; round < 20; ++round) {
        final Module module = load();
        module.loadMethod("plus");
        final Future<Integer> runs =
            executor.submit(
                () -> {
                  for (int i = 0; ; ++i) {
                    try {
                      assertEquals(2, first(module.execute("plus", ones())), 0);
                    } catch (IllegalStateException destroyed) {
                      return i;
                    }
                  }
                });
        Thread.sleep(2);
        module.destroy();
        assertTrue(runs.get() >= 0);
      }
    } catch (ExecutionException error) {
      throw new AssertionError(error.getCause());
    } finally {
      executor.shutdown();
    }
  }

  @Test
  public void collectedModulesAreFreed() throws Exception {
    final long before = mappings();
    for (int i = 0; i < 50; ++i) load().loadMethod("plus");
    for (int attempt = 0; attempt < 50 && mappings() > before; ++attempt) {
      System.gc();
      Thread.sleep(20);
      load().destroy();
    }
    assertTrue(mappings() + " mappings of the program, " + before + " before", mappings() <= before);
  }

  // Returns the number of mappings of the program file in this process.
  private static long mappings() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/maps")).stream()
        .filter(line -> line.endsWith(program().getFileName().toString()))
        .count();
  }

  @Test
  public void manyCallsLeaveNothingBehind() throws Exception {
    final BufferPoolMXBean direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .findFirst()
            .get();
    try (Module module = load()) {
      final EValue input = ones();
      for (int i = 0; i < 20_000; ++i) module.execute("plus", input);
      System.gc();
      Thread.sleep(50);
      final long buffers = direct.getCount();
      final long resident = residentPages();
      for (int i = 0; i < 100_000; ++i) {
        if (i % 10 == 0) {
          assertThrows(IllegalArgumentException.class, () -> module.forward(input));
        } else {
          module.execute("plus", input);
        }
      }
      for (int attempt = 0; attempt < 50 && direct.getCount() > buffers; ++attempt) {
        System.gc();
        Thread.sleep(20);
      }
      assertTrue(direct.getCount() + " direct buffers, " + buffers + " before", direct.getCount() <= buffers);
      // The Java heap is resident from the start. A leak of 100 bytes per call would be 2,441 pages of 4 KB.
      final long grown = residentPages() - resident;
      assertTrue(grown + " pages more", grown < 2_441);
    }
  }

  private static long residentPages() throws IOException {
    return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]);
  }
}
