package org.rushlight;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The layout of values that are passed to and from the native library. A value has {@link #LONGS} longs: kind, dtype,
 * rank, bytes, the integer or the bits of the real number, then the sizes. Its elements or characters are in a direct
 * buffer.
 */
final class Values {
  static final int MAX_RANK = 16; // RUSHLIGHT_MAX_RANK
  private static final int KIND = 0;
  private static final int DTYPE = 1;
  private static final int RANK = 2;
  private static final int BYTES = 3;
  private static final int NUMBER = 4;
  private static final int SIZES = 5;
  static final int LONGS = SIZES + MAX_RANK;

  private Values() {}

  /** Writes input `index` into its longs. Returns its buffer, or null if it has none. */
  static Buffer write(EValue value, long[] longs, int index) {
    final int at = index * LONGS;
    longs[at + KIND] = value.kind();
    switch (value.kind()) {
      case EValue.TENSOR:
        return writeTensor(value.toTensor(), longs, at);
      case EValue.INT:
        longs[at + NUMBER] = value.toInt();
        return null;
      case EValue.BOOL:
        longs[at + NUMBER] = value.toBool() ? 1 : 0;
        return null;
      case EValue.DOUBLE:
        longs[at + NUMBER] = Double.doubleToRawLongBits(value.toDouble());
        return null;
      case EValue.STRING:
        final byte[] text = value.toStr().getBytes(StandardCharsets.UTF_8);
        final ByteBuffer buffer = Tensor.allocateByteBuffer(text.length);
        buffer.put(text);
        longs[at + BYTES] = text.length;
        return buffer;
      default:
        return null;
    }
  }

  private static Buffer writeTensor(Tensor tensor, long[] longs, int at) {
    final long[] shape = tensor.shape;
    longs[at + DTYPE] = tensor.dtype().jniCode;
    longs[at + RANK] = shape.length;
    longs[at + BYTES] = tensor.nbytes();
    System.arraycopy(shape, 0, longs, at + SIZES, shape.length);
    return tensor.data;
  }

  static int kind(long[] longs, int index) {
    return (int) longs[index * LONGS + KIND];
  }

  static long bytes(long[] longs, int index) {
    return longs[index * LONGS + BYTES];
  }

  /** Reads output `index` from its longs, and from its buffer if it is a tensor or a string. */
  static EValue read(long[] longs, int index, ByteBuffer buffer) {
    final int at = index * LONGS;
    switch ((int) longs[at + KIND]) {
      case EValue.NONE:
        return EValue.optionalNone();
      case EValue.TENSOR:
        final long[] shape = new long[(int) longs[at + RANK]];
        System.arraycopy(longs, at + SIZES, shape, 0, shape.length);
        return EValue.from(Tensor.over(buffer, shape, DType.fromJniCode((int) longs[at + DTYPE])));
      case EValue.INT:
        return EValue.from(longs[at + NUMBER]);
      case EValue.BOOL:
        return EValue.from(longs[at + NUMBER] != 0);
      case EValue.DOUBLE:
        return EValue.from(Double.longBitsToDouble(longs[at + NUMBER]));
      case EValue.STRING:
        return EValue.from(StandardCharsets.UTF_8.decode(buffer).toString());
      default:
        return EValue.other();
    }
  }
}
