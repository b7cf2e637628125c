package org.rushlight;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class TensorTest {
  private static final long[] PAIR = {1, 2};

  private static void refuses(String message, ThrowingRunnable action) {
    final IllegalArgumentException error = assertThrows(IllegalArgumentException.class, action);
    assertTrue(error.getMessage(), error.getMessage().contains(message));
  }

  @Test
  public void arraysOfEachDtype() {
    assertArrayEquals(new byte[] {-1, 2}, Tensor.fromBlob(new byte[] {-1, 2}, PAIR).getDataAsByteArray());
    assertEquals(DType.INT8, Tensor.fromBlob(new byte[] {-1, 2}, PAIR).dtype());
    assertArrayEquals(
        new byte[] {-1, 2}, Tensor.fromBlobUnsigned(new byte[] {-1, 2}, PAIR).getDataAsUnsignedByteArray());
    assertEquals(DType.UINT8, Tensor.fromBlobUnsigned(new byte[] {-1, 2}, PAIR).dtype());
    assertArrayEquals(new int[] {-1, 2}, Tensor.fromBlob(new int[] {-1, 2}, PAIR).getDataAsIntArray());
    assertArrayEquals(new long[] {-1, 2}, Tensor.fromBlob(new long[] {-1, 2}, PAIR).getDataAsLongArray());
    assertArrayEquals(new float[] {-1, 2}, Tensor.fromBlob(new float[] {-1, 2}, PAIR).getDataAsFloatArray(), 0);
    assertArrayEquals(new double[] {-1, 2}, Tensor.fromBlob(new double[] {-1, 2}, PAIR).getDataAsDoubleArray(), 0);
    assertArrayEquals(new short[] {-1, 2}, Tensor.fromBlob(new short[] {-1, 2}, PAIR).getDataAsShortArray());
  }

  @Test
  public void halvesAreReadAsFloats() {
    final short[] halves = {0x3c00, (short) 0xc000, 0x0001, (short) 0x8000, 0x7bff, 0x7c00, (short) 0xfc00, 0x3555};
    final float[] floats = {1, -2, 0x1p-24f, -0f, 65504, 1f / 0, -1f / 0, 0.33325195f};
    assertArrayEquals(floats, Tensor.fromBlob(halves, new long[] {8}).getDataAsFloatArray(), 0);
    assertTrue(Float.isNaN(Tensor.fromBlob(new short[] {0x7e00}, new long[] {1}).getDataAsFloatArray()[0]));
  }

  @Test
  public void buffersAreSharedAndArraysAreCopied() {
    final FloatBuffer buffer = Tensor.allocateFloatBuffer(2);
    final Tensor shared = Tensor.fromBlob(buffer, PAIR);
    buffer.put(0, 5);
    assertSame(buffer, shared.getRawDataBuffer());
    assertEquals(5, shared.getDataAsFloatArray()[0], 0);
    final float[] array = {1, 2};
    final Tensor copied = Tensor.fromBlob(array, PAIR);
    array[0] = 7;
    assertEquals(1, copied.getDataAsFloatArray()[0], 0);
    final long[] shape = copied.shape();
    shape[0] = 9;
    assertArrayEquals(PAIR, copied.shape());
  }

  @Test
  public void anyDtypeOfBytes() {
    for (DType dtype : DType.values()) {
      assertEquals(dtype, DType.fromJniCode(dtype.jniCode));
      final ByteBuffer bytes = Tensor.allocateByteBuffer(6 * dtype.size);
      for (int i = 0; i < bytes.capacity(); ++i) bytes.put(i, (byte) i);
      final Tensor tensor = Tensor.fromBlob(bytes, new long[] {3, 2}, dtype);
      assertEquals(dtype, tensor.dtype());
      assertEquals(6, tensor.numel());
      assertEquals(6 * dtype.size, ProgramsTest.bytesOf(tensor).length);
      assertEquals(5, ProgramsTest.bytesOf(tensor)[5]);
      assertEquals(0, Tensor.zeros(new long[] {2, 0}, dtype).numel());
    }
    refuses("no dtype has the number 12", () -> DType.fromJniCode(12));
    refuses("no dtype has the number -1", () -> DType.fromJniCode(-1));
  }

  @Test
  public void aTensorWithoutDimensionsHasOneElement() {
    assertEquals(1, Tensor.fromBlob(new float[] {3}, new long[0]).numel());
  }

  @Test
  public void wrongArgumentsAreNamed() {
    refuses("data is null", () -> Tensor.fromBlob((float[]) null, PAIR));
    refuses("shape is null", () -> Tensor.fromBlob(new float[2], null));
    refuses("dtype is null", () -> Tensor.fromBlob(Tensor.allocateByteBuffer(2), PAIR, null));
    refuses("the shape [1, 3] has 3 elements, and data has 2", () -> Tensor.fromBlob(new float[2], new long[] {1, 3}));
    refuses("size 1 of [1, -2] is negative", () -> Tensor.fromBlob(new float[2], new long[] {1, -2}));
    refuses("too large", () -> Tensor.numel(new long[] {Long.MAX_VALUE, 2}));
    refuses("more than", () -> Tensor.fromBlob(new float[2], new long[] {1L << 31, 1}));
    refuses("a size of", () -> Tensor.fromBlob(new float[0], new long[] {1L << 31, 0}));
    refuses("17 dimensions", () -> Tensor.fromBlob(new float[0], new long[17]));
    refuses("not a direct buffer", () -> Tensor.fromBlob(FloatBuffer.allocate(2), PAIR));
    refuses("read-only", () -> Tensor.fromBlob(Tensor.allocateFloatBuffer(2).asReadOnlyBuffer(), PAIR));
    refuses("not a multiple of the element size", () -> Tensor.fromBlob(Tensor.allocateByteBuffer(7), PAIR, DType.FLOAT));
    refuses("numElements is -1", () -> Tensor.allocateFloatBuffer(-1));
    final ByteOrder other =
        ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
    refuses("byte order", () -> Tensor.fromBlob(ByteBuffer.allocateDirect(8).order(other).asFloatBuffer(), PAIR));
  }

  @Test
  public void elementsAreReadInTheirDtypeAlone() {
    final Tensor tensor = Tensor.fromBlob(new float[2], PAIR);
    final IllegalStateException error = assertThrows(IllegalStateException.class, tensor::getDataAsLongArray);
    assertEquals("getDataAsLongArray() is for INT64; the tensor has the dtype FLOAT", error.getMessage());
  }

  @Test
  public void valuesHaveOneKind() {
    assertEquals(3, EValue.from(3).toInt());
    assertEquals(2.5, EValue.from(2.5).toDouble(), 0);
    assertTrue(EValue.from(true).toBool());
    assertEquals("text", EValue.from("text").toStr());
    assertTrue(EValue.optionalNone().isNone());
    final IllegalStateException error = assertThrows(IllegalStateException.class, () -> EValue.from(3).toTensor());
    assertEquals("the value is of the type Int, not Tensor", error.getMessage());
    assertThrows(NullPointerException.class, () -> EValue.from((Tensor) null));
  }
}
