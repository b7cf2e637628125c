package org.rushlight;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * A dense tensor in row-major order. A tensor from an array has a copy of the elements. A tensor from a direct buffer
 * shares the buffer's memory, so the buffer may be filled again between runs. The names are the same as in ExecuTorch's
 * Android API.
 */
public final class Tensor {
  private static final int MAX_RANK = Values.MAX_RANK;

  final long[] shape;

  /** The elements from index 0, in native byte order: a direct buffer of the class for the dtype. */
  final Buffer data;

  private final DType dtype;

  private Tensor(Buffer data, long[] shape, DType dtype) {
    this.data = data;
    this.shape = shape;
    this.dtype = dtype;
  }

  /** Returns a tensor over a direct buffer of its size. */
  static Tensor over(ByteBuffer bytes, long[] shape, DType dtype) {
    return new Tensor(viewOf(bytes, dtype), shape, dtype);
  }

  /** Returns a direct buffer of {@code numElements} bytes in native byte order. */
  public static ByteBuffer allocateByteBuffer(int numElements) {
    return allocate(numElements, 1);
  }

  /** Returns a direct buffer of {@code numElements} float16 numbers, as their bits in native byte order. */
  public static ShortBuffer allocateHalfBuffer(int numElements) {
    return allocate(numElements, 2).asShortBuffer();
  }

  /** Returns a direct buffer of {@code numElements} ints in native byte order. */
  public static IntBuffer allocateIntBuffer(int numElements) {
    return allocate(numElements, 4).asIntBuffer();
  }

  /** Returns a direct buffer of {@code numElements} longs in native byte order. */
  public static LongBuffer allocateLongBuffer(int numElements) {
    return allocate(numElements, 8).asLongBuffer();
  }

  /** Returns a direct buffer of {@code numElements} floats in native byte order. */
  public static FloatBuffer allocateFloatBuffer(int numElements) {
    return allocate(numElements, 4).asFloatBuffer();
  }

  /** Returns a direct buffer of {@code numElements} doubles in native byte order. */
  public static DoubleBuffer allocateDoubleBuffer(int numElements) {
    return allocate(numElements, 8).asDoubleBuffer();
  }

  /**
   * Returns a tensor of the dtype INT8.
   *
   * @param data bytes, which are copied
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data
   */
  public static Tensor fromBlob(byte[] data, long[] shape) {
    checkNotNull(data, "data");
    final int count = checkedCount(shape, data.length, DType.INT8);
    final ByteBuffer buffer = allocateByteBuffer(count);
    buffer.put(data);
    return fromBlob(buffer, shape);
  }

  /**
   * Returns a tensor of the dtype INT8 over a direct buffer.
   *
   * @param data bytes in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlob(ByteBuffer data, long[] shape) {
    checkNotNull(data, "data");
    checkBuffer(data, data.order());
    checkedCount(shape, data.capacity(), DType.INT8);
    return new Tensor(data, shape.clone(), DType.INT8);
  }

  /**
   * Returns a tensor of the dtype UINT8.
   *
   * @param data bytes, which are copied
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data
   */
  public static Tensor fromBlobUnsigned(byte[] data, long[] shape) {
    checkNotNull(data, "data");
    final int count = checkedCount(shape, data.length, DType.UINT8);
    final ByteBuffer buffer = allocateByteBuffer(count);
    buffer.put(data);
    return fromBlobUnsigned(buffer, shape);
  }

  /**
   * Returns a tensor of the dtype UINT8 over a direct buffer.
   *
   * @param data bytes in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlobUnsigned(ByteBuffer data, long[] shape) {
    checkNotNull(data, "data");
    checkBuffer(data, data.order());
    checkedCount(shape, data.capacity(), DType.UINT8);
    return new Tensor(data, shape.clone(), DType.UINT8);
  }

  /**
   * Returns a tensor of the dtype HALF.
   *
   * @param data bits of float16 numbers, which are copied
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data
   */
  public static Tensor fromBlob(short[] data, long[] shape) {
    checkNotNull(data, "data");
    final int count = checkedCount(shape, data.length, DType.HALF);
    final ShortBuffer buffer = allocateHalfBuffer(count);
    buffer.put(data);
    return fromBlob(buffer, shape);
  }

  /**
   * Returns a tensor of the dtype HALF over a direct buffer.
   *
   * @param data bits of float16 numbers in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlob(ShortBuffer data, long[] shape) {
    checkNotNull(data, "data");
    checkBuffer(data, data.order());
    checkedCount(shape, data.capacity(), DType.HALF);
    return new Tensor(data, shape.clone(), DType.HALF);
  }

  /**
   * Returns a tensor of the dtype INT32.
   *
   * @param data ints, which are copied
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data
   */
  public static Tensor fromBlob(int[] data, long[] shape) {
    checkNotNull(data, "data");
    final int count = checkedCount(shape, data.length, DType.INT32);
    final IntBuffer buffer = allocateIntBuffer(count);
    buffer.put(data);
    return fromBlob(buffer, shape);
  }

  /**
   * Returns a tensor of the dtype INT32 over a direct buffer.
   *
   * @param data ints in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlob(IntBuffer data, long[] shape) {
    checkNotNull(data, "data");
    checkBuffer(data, data.order());
    checkedCount(shape, data.capacity(), DType.INT32);
    return new Tensor(data, shape.clone(), DType.INT32);
  }

  /**
   * Returns a tensor of the dtype INT64.
   *
   * @param data longs, which are copied
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data
   */
  public static Tensor fromBlob(long[] data, long[] shape) {
    checkNotNull(data, "data");
    final int count = checkedCount(shape, data.length, DType.INT64);
    final LongBuffer buffer = allocateLongBuffer(count);
    buffer.put(data);
    return fromBlob(buffer, shape);
  }

  /**
   * Returns a tensor of the dtype INT64 over a direct buffer.
   *
   * @param data longs in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlob(LongBuffer data, long[] shape) {
    checkNotNull(data, "data");
    checkBuffer(data, data.order());
    checkedCount(shape, data.capacity(), DType.INT64);
    return new Tensor(data, shape.clone(), DType.INT64);
  }

  /**
   * Returns a tensor of the dtype FLOAT.
   *
   * @param data floats, which are copied
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data
   */
  public static Tensor fromBlob(float[] data, long[] shape) {
    checkNotNull(data, "data");
    final int count = checkedCount(shape, data.length, DType.FLOAT);
    final FloatBuffer buffer = allocateFloatBuffer(count);
    buffer.put(data);
    return fromBlob(buffer, shape);
  }

  /**
   * Returns a tensor of the dtype FLOAT over a direct buffer.
   *
   * @param data floats in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlob(FloatBuffer data, long[] shape) {
    checkNotNull(data, "data");
    checkBuffer(data, data.order());
    checkedCount(shape, data.capacity(), DType.FLOAT);
    return new Tensor(data, shape.clone(), DType.FLOAT);
  }

  /**
   * Returns a tensor of the dtype DOUBLE.
   *
   * @param data doubles, which are copied
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data
   */
  public static Tensor fromBlob(double[] data, long[] shape) {
    checkNotNull(data, "data");
    final int count = checkedCount(shape, data.length, DType.DOUBLE);
    final DoubleBuffer buffer = allocateDoubleBuffer(count);
    buffer.put(data);
    return fromBlob(buffer, shape);
  }

  /**
   * Returns a tensor of the dtype DOUBLE over a direct buffer.
   *
   * @param data doubles in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlob(DoubleBuffer data, long[] shape) {
    checkNotNull(data, "data");
    checkBuffer(data, data.order());
    checkedCount(shape, data.capacity(), DType.DOUBLE);
    return new Tensor(data, shape.clone(), DType.DOUBLE);
  }

  /**
   * Returns a tensor of any dtype over the bytes of a direct buffer.
   *
   * @param data the elements in native byte order, from index 0 of the buffer; the tensor uses its memory
   * @param shape the sizes of the dimensions
   * @param dtype the type of the elements; complex numbers are pairs, and a bool is a byte of 0 or 1
   * @throws IllegalArgumentException if the shape does not fit the data, or the buffer is not direct
   */
  public static Tensor fromBlob(ByteBuffer data, long[] shape, DType dtype) {
    checkNotNull(data, "data");
    checkNotNull(dtype, "dtype");
    checkBuffer(data, data.order());
    if (data.capacity() % dtype.size != 0) {
      throw new IllegalArgumentException(
          "data has " + data.capacity() + " bytes, which is not a multiple of the element size of " + dtype);
    }
    checkedCount(shape, data.capacity() / dtype.size, dtype);
    return over(data, shape.clone(), dtype);
  }

  /**
   * Returns a tensor of zeros.
   *
   * @param shape the sizes of the dimensions
   * @param dtype the type of the elements
   */
  public static Tensor zeros(long[] shape, DType dtype) {
    checkNotNull(dtype, "dtype");
    return over(allocate((int) checkedNumel(shape, dtype), dtype.size), shape.clone(), dtype);
  }

  /** Returns the number of elements. */
  public long numel() {
    return numel(shape);
  }

  /**
   * Returns the number of elements of a shape.
   *
   * @throws IllegalArgumentException if a size is negative, or the number does not fit into a long
   */
  public static long numel(long[] shape) {
    checkNotNull(shape, "shape");
    long count = 1;
    boolean isEmpty = false;
    for (int i = 0; i < shape.length; ++i) {
      if (shape[i] < 0) throw new IllegalArgumentException("size " + i + " of " + text(shape) + " is negative");
      isEmpty |= shape[i] == 0;
    }
    if (isEmpty) return 0;
    for (long size : shape) {
      if (count > Long.MAX_VALUE / size) throw tooLarge(shape);
      count *= size;
    }
    return count;
  }

  /** Returns the sizes of the dimensions, as a copy. */
  public long[] shape() {
    return shape.clone();
  }

  /** Returns the type of the elements. */
  public DType dtype() {
    return dtype;
  }

  /**
   * Returns the buffer of the elements, which begin at index 0: the buffer from which the tensor was made, or a buffer
   * of the class for the dtype. The class is ShortBuffer for all 16-bit numbers, ByteBuffer for complex numbers and bools.
   */
  public Buffer getRawDataBuffer() {
    return data;
  }

  /**
   * Returns the elements of a tensor of the dtype INT8, as a copy.
   *
   * @throws IllegalStateException if the tensor has another dtype
   */
  public byte[] getDataAsByteArray() {
    check(DType.INT8, "getDataAsByteArray");
    final byte[] result = new byte[count()];
    final ByteBuffer elements = ((ByteBuffer) data).duplicate();
    elements.clear();
    elements.get(result);
    return result;
  }

  /**
   * Returns the elements of a tensor of the dtype UINT8, as a copy.
   *
   * @throws IllegalStateException if the tensor has another dtype
   */
  public byte[] getDataAsUnsignedByteArray() {
    check(DType.UINT8, "getDataAsUnsignedByteArray");
    final byte[] result = new byte[count()];
    final ByteBuffer elements = ((ByteBuffer) data).duplicate();
    elements.clear();
    elements.get(result);
    return result;
  }

  /**
   * Returns the elements of a tensor of the dtype HALF, as their bits, as a copy.
   *
   * @throws IllegalStateException if the tensor has another dtype
   */
  public short[] getDataAsShortArray() {
    check(DType.HALF, "getDataAsShortArray");
    final short[] result = new short[count()];
    final ShortBuffer elements = ((ShortBuffer) data).duplicate();
    elements.clear();
    elements.get(result);
    return result;
  }

  /**
   * Returns the elements of a tensor of the dtype INT32, as a copy.
   *
   * @throws IllegalStateException if the tensor has another dtype
   */
  public int[] getDataAsIntArray() {
    check(DType.INT32, "getDataAsIntArray");
    final int[] result = new int[count()];
    final IntBuffer elements = ((IntBuffer) data).duplicate();
    elements.clear();
    elements.get(result);
    return result;
  }

  /**
   * Returns the elements of a tensor of the dtype INT64, as a copy.
   *
   * @throws IllegalStateException if the tensor has another dtype
   */
  public long[] getDataAsLongArray() {
    check(DType.INT64, "getDataAsLongArray");
    final long[] result = new long[count()];
    final LongBuffer elements = ((LongBuffer) data).duplicate();
    elements.clear();
    elements.get(result);
    return result;
  }

  /**
   * Returns the elements of a tensor of the dtype FLOAT, or of HALF as floats, as a copy.
   *
   * @throws IllegalStateException if the tensor has another dtype
   */
  public float[] getDataAsFloatArray() {
    final float[] result = new float[count()];
    if (dtype == DType.HALF) {
      final ShortBuffer halves = (ShortBuffer) data;
      for (int i = 0; i < result.length; ++i) result[i] = floatOf(halves.get(i));
      return result;
    }
    check(DType.FLOAT, "getDataAsFloatArray");
    final FloatBuffer elements = ((FloatBuffer) data).duplicate();
    elements.clear();
    elements.get(result);
    return result;
  }

  /**
   * Returns the elements of a tensor of the dtype DOUBLE, as a copy.
   *
   * @throws IllegalStateException if the tensor has another dtype
   */
  public double[] getDataAsDoubleArray() {
    check(DType.DOUBLE, "getDataAsDoubleArray");
    final double[] result = new double[count()];
    final DoubleBuffer elements = ((DoubleBuffer) data).duplicate();
    elements.clear();
    elements.get(result);
    return result;
  }

  @Override
  public String toString() {
    return "Tensor(" + text(shape) + ", dtype=" + dtype + ")";
  }

  long nbytes() {
    return numel() * dtype.size;
  }

  private int count() {
    return (int) numel();
  }

  private void check(DType wanted, String function) {
    if (dtype != wanted) {
      throw new IllegalStateException(function + "() is for " + wanted + "; the tensor has the dtype " + dtype);
    }
  }

  private static ByteBuffer allocate(int count, int size) {
    if (count < 0 || count > Integer.MAX_VALUE / size) {
      throw new IllegalArgumentException(
          "numElements is " + count + "; it must be from 0 to " + Integer.MAX_VALUE / size);
    }
    return ByteBuffer.allocateDirect(count * size).order(ByteOrder.nativeOrder());
  }

  // Returns the bytes of a buffer from index 0 on, as a buffer of the class for the dtype.
  private static Buffer viewOf(ByteBuffer bytes, DType dtype) {
    final ByteBuffer all = bytes.duplicate();
    all.clear();
    all.order(ByteOrder.nativeOrder());
    switch (dtype) {
      case HALF:
      case BFLOAT16:
      case INT16:
      case UINT16:
        return all.asShortBuffer();
      case INT32:
      case UINT32:
        return all.asIntBuffer();
      case INT64:
      case UINT64:
        return all.asLongBuffer();
      case FLOAT:
        return all.asFloatBuffer();
      case DOUBLE:
        return all.asDoubleBuffer();
      default:
        return all;
    }
  }

  private static long checkedNumel(long[] shape, DType dtype) {
    final long count = numel(shape);
    if (shape.length > MAX_RANK) {
      throw new IllegalArgumentException("shape has " + shape.length + " dimensions; the most are " + MAX_RANK);
    }
    if (count > Integer.MAX_VALUE / dtype.size) {
      throw new IllegalArgumentException(
          "the shape " + text(shape) + " needs more than " + Integer.MAX_VALUE + " bytes");
    }
    for (long size : shape) {
      if (size > Integer.MAX_VALUE) throw new IllegalArgumentException("a size of " + text(shape) + " is too large");
    }
    return count;
  }

  private static int checkedCount(long[] shape, int given, DType dtype) {
    final long count = checkedNumel(shape, dtype);
    if (count != given) {
      throw new IllegalArgumentException(
          "the shape " + text(shape) + " has " + count + " elements, and data has " + given);
    }
    return (int) count;
  }

  private static void checkBuffer(Buffer buffer, ByteOrder order) {
    if (!buffer.isDirect()) throw new IllegalArgumentException("data is not a direct buffer");
    if (buffer.isReadOnly()) throw new IllegalArgumentException("data is a read-only buffer");
    if (order != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("data has the byte order " + order + ", not the native one");
    }
  }

  private static void checkNotNull(Object value, String name) {
    if (value == null) throw new IllegalArgumentException(name + " is null");
  }

  private static IllegalArgumentException tooLarge(long[] shape) {
    return new IllegalArgumentException("the shape " + text(shape) + " is too large");
  }

  private static String text(long[] shape) {
    return Arrays.toString(shape);
  }

  private static float floatOf(short half) {
    final int exponent = half >> 10 & 0x1f;
    final int mantissa = half & 0x3ff;
    final float sign = half < 0 ? -1f : 1f;
    if (exponent == 0) return sign * mantissa * 0x1p-24f;
    if (exponent == 0x1f) return mantissa == 0 ? sign * Float.POSITIVE_INFINITY : Float.NaN;
    return Float.intBitsToFloat((half & 0x8000) << 16 | exponent + 112 << 23 | mantissa << 13);
  }
}
