package org.rushlight;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import java.io.IOException;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

/**
 * Programs whose results the Python package wrote. A folder has program.pte and case.txt, whose lines are
 * `input|output tensor DTYPE SIZE,... FILE`, `input|output int|double|bool VALUE` and `input|output none`.
 */
@RunWith(Parameterized.class)
public class ProgramsTest {
  private final Path folder;

  public ProgramsTest(String name, Path folder) {
    this.folder = folder;
  }

  static Path root() {
    return Paths.get(System.getProperty("org.rushlight.cases"));
  }

  @Parameters(name = "{0}")
  public static List<Object[]> cases() throws IOException {
    try (Stream<Path> found = Files.list(root())) {
      return found
          .filter(path -> Files.exists(path.resolve("case.txt")))
          .sorted()
          .map(path -> new Object[] {path.getFileName().toString(), path})
          .collect(Collectors.toList());
    }
  }

  @Test
  public void hasTheResultsOfPython() throws IOException {
    final List<EValue> inputs = new ArrayList<>();
    final List<EValue> outputs = new ArrayList<>();
    for (String line : Files.readAllLines(folder.resolve("case.txt"))) {
      final String[] words = line.split(" ");
      (words[0].equals("input") ? inputs : outputs).add(read(words));
    }
    for (int mode : new int[] {Module.LOAD_MODE_FILE, Module.LOAD_MODE_MMAP}) {
      try (Module module = Module.load(folder.resolve("program.pte").toString(), mode)) {
        for (int run = 0; run < 2; ++run) {
          final EValue[] results = module.forward(inputs.toArray(new EValue[0]));
          assertEquals(outputs.size(), results.length);
          for (int i = 0; i < results.length; ++i) check(outputs.get(i), results[i]);
        }
      }
    }
  }

  private EValue read(String[] words) throws IOException {
    switch (words[1]) {
      case "tensor":
        final byte[] bytes = Files.readAllBytes(folder.resolve(words[4]));
        final ByteBuffer buffer = Tensor.allocateByteBuffer(bytes.length);
        buffer.put(bytes);
        final long[] shape =
            words[3].equals("-") ? new long[0] : Stream.of(words[3].split(",")).mapToLong(Long::parseLong).toArray();
        return EValue.from(Tensor.fromBlob(buffer, shape, DType.valueOf(words[2])));
      case "int":
        return EValue.from(Long.parseLong(words[2]));
      case "double":
        return EValue.from(Double.parseDouble(words[2]));
      case "bool":
        return EValue.from(Boolean.parseBoolean(words[2]));
      case "none":
        return EValue.optionalNone();
      default:
        throw new IOException("unknown kind " + words[1]);
    }
  }

  private static void check(EValue expected, EValue actual) {
    assertEquals(expected.kind(), actual.kind());
    if (!expected.isTensor()) {
      assertEquals(expected.toString(), actual.toString());
      return;
    }
    assertEquals(expected.toTensor().dtype(), actual.toTensor().dtype());
    assertArrayEquals(expected.toTensor().shape(), actual.toTensor().shape());
    assertArrayEquals(bytesOf(expected.toTensor()), bytesOf(actual.toTensor()));
  }

  static byte[] bytesOf(Tensor tensor) {
    final ByteBuffer bytes = ByteBuffer.allocate((int) tensor.nbytes()).order(ByteOrder.nativeOrder());
    final Buffer data = tensor.getRawDataBuffer().duplicate().clear();
    if (data instanceof ByteBuffer) bytes.put((ByteBuffer) data);
    if (data instanceof ShortBuffer) bytes.asShortBuffer().put((ShortBuffer) data);
    if (data instanceof IntBuffer) bytes.asIntBuffer().put((IntBuffer) data);
    if (data instanceof LongBuffer) bytes.asLongBuffer().put((LongBuffer) data);
    if (data instanceof FloatBuffer) bytes.asFloatBuffer().put((FloatBuffer) data);
    if (data instanceof DoubleBuffer) bytes.asDoubleBuffer().put((DoubleBuffer) data);
    return bytes.array();
  }
}
