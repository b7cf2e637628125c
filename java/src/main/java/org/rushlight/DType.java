package org.rushlight;

/** The type of the elements of a tensor. The names are the same as in ExecuTorch's Android API. */
public enum DType {
  UINT8(0, 1),
  INT8(1, 1),
  INT16(2, 2),
  INT32(3, 4),
  INT64(4, 8),
  HALF(5, 2),
  FLOAT(6, 4),
  DOUBLE(7, 8),
  COMPLEX_HALF(8, 4),
  COMPLEX_FLOAT(9, 8),
  COMPLEX_DOUBLE(10, 16),
  BOOL(11, 1),
  BFLOAT16(15, 2),
  UINT16(27, 2),
  UINT32(28, 4),
  UINT64(29, 8);

  private static final DType[] BY_CODE = new DType[30];

  static {
    for (DType dtype : values()) BY_CODE[dtype.jniCode] = dtype;
  }

  /** The number of the dtype in torch and in the file format. */
  final int jniCode;

  /** The bytes of one element. */
  final int size;

  DType(int jniCode, int size) {
    this.jniCode = jniCode;
    this.size = size;
  }

  /**
   * Returns the dtype with a number.
   *
   * @param jniCode the number of the dtype in torch and in the file format
   * @throws IllegalArgumentException if no dtype has the number
   */
  public static DType fromJniCode(int jniCode) {
    final DType dtype = jniCode >= 0 && jniCode < BY_CODE.length ? BY_CODE[jniCode] : null;
    if (dtype == null) throw new IllegalArgumentException("no dtype has the number " + jniCode);
    return dtype;
  }
}
