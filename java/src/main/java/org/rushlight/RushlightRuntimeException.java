package org.rushlight;

import java.nio.charset.StandardCharsets;

/** An error of the runtime, with its code. The codes are the same as in ExecuTorch. */
public class RushlightRuntimeException extends RuntimeException {
  public static final int OK = 0x00;
  public static final int INTERNAL = 0x01;
  public static final int INVALID_STATE = 0x02;
  public static final int END_OF_METHOD = 0x03;
  public static final int NOT_SUPPORTED = 0x10;
  public static final int NOT_IMPLEMENTED = 0x11;
  public static final int INVALID_ARGUMENT = 0x12;
  public static final int INVALID_TYPE = 0x13;
  public static final int OPERATOR_MISSING = 0x14;
  public static final int NOT_FOUND = 0x20;
  public static final int MEMORY_ALLOCATION_FAILED = 0x21;
  public static final int ACCESS_FAILED = 0x22;
  public static final int INVALID_PROGRAM = 0x23;
  public static final int INVALID_EXTERNAL_DATA = 0x24;
  public static final int OUT_OF_RESOURCES = 0x25;
  public static final int DELEGATE_INVALID_COMPATIBILITY = 0x30;
  public static final int DELEGATE_MEMORY_ALLOCATION_FAILED = 0x31;
  public static final int DELEGATE_INVALID_HANDLE = 0x32;

  private static final long serialVersionUID = 1L;

  private final int errorCode;

  /**
   * Makes an error.
   *
   * @param errorCode one of the constants of this class
   * @param details the message
   */
  public RushlightRuntimeException(int errorCode, String details) {
    super(details);
    this.errorCode = errorCode;
  }

  /** Returns one of the constants of this class. */
  public int getErrorCode() {
    return errorCode;
  }

  /** An invalid argument that the runtime found. */
  public static class RushlightInvalidArgumentException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes an error.
     *
     * @param details the message
     */
    public RushlightInvalidArgumentException(String details) {
      super(details);
    }

    /** Returns {@link RushlightRuntimeException#INVALID_ARGUMENT}. */
    public int getErrorCode() {
      return INVALID_ARGUMENT;
    }
  }

  // Called by the native library.
  private static RuntimeException fromNative(int errorCode, byte[] utf8) {
    final String details = new String(utf8, StandardCharsets.UTF_8);
    if (errorCode == INVALID_ARGUMENT) return new RushlightInvalidArgumentException(details);
    return new RushlightRuntimeException(errorCode, details);
  }
}
