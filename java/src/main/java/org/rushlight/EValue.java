package org.rushlight;

import java.util.Objects;

/**
 * An input or output of a method: a tensor, an integer, a real number, a boolean, a string or none. The names
 * are the same as in ExecuTorch's Android API.
 */
public final class EValue {
  // Numbers of rushlight_kind.
  static final int NONE = 0;
  static final int TENSOR = 1;
  static final int INT = 2;
  static final int DOUBLE = 3;
  static final int BOOL = 4;
  static final int STRING = 5;
  static final int OTHER = 6;

  private static final String[] NAMES = {"None", "Tensor", "Int", "Double", "Bool", "String", "List"};
  private static final EValue NO_VALUE = new EValue(NONE, null);

  private final int kind;
  private final Object data;

  private EValue(int kind, Object data) {
    this.kind = kind;
    this.data = data;
  }

  /** Returns the value None. */
  public static EValue optionalNone() {
    return NO_VALUE;
  }

  /** Returns a value that holds a tensor. */
  public static EValue from(Tensor tensor) {
    return new EValue(TENSOR, Objects.requireNonNull(tensor, "tensor is null"));
  }

  /** Returns a value that holds a boolean. */
  public static EValue from(boolean value) {
    return new EValue(BOOL, value);
  }

  /** Returns a value that holds an integer. */
  public static EValue from(long value) {
    return new EValue(INT, value);
  }

  /** Returns a value that holds a real number. */
  public static EValue from(double value) {
    return new EValue(DOUBLE, value);
  }

  /** Returns a value that holds a string. */
  public static EValue from(String value) {
    return new EValue(STRING, Objects.requireNonNull(value, "value is null"));
  }

  // Returns a list. This API does not read its elements.
  static EValue other() {
    return new EValue(OTHER, null);
  }

  public boolean isNone() {
    return kind == NONE;
  }

  public boolean isTensor() {
    return kind == TENSOR;
  }

  public boolean isBool() {
    return kind == BOOL;
  }

  public boolean isInt() {
    return kind == INT;
  }

  public boolean isDouble() {
    return kind == DOUBLE;
  }

  public boolean isString() {
    return kind == STRING;
  }

  /**
   * Returns the tensor.
   *
   * @throws IllegalStateException if the value is of another type
   */
  public Tensor toTensor() {
    return (Tensor) dataOf(TENSOR);
  }

  /**
   * Returns the boolean.
   *
   * @throws IllegalStateException if the value is of another type
   */
  public boolean toBool() {
    return (boolean) dataOf(BOOL);
  }

  /**
   * Returns the integer.
   *
   * @throws IllegalStateException if the value is of another type
   */
  public long toInt() {
    return (long) dataOf(INT);
  }

  /**
   * Returns the real number.
   *
   * @throws IllegalStateException if the value is of another type
   */
  public double toDouble() {
    return (double) dataOf(DOUBLE);
  }

  /**
   * Returns the string.
   *
   * @throws IllegalStateException if the value is of another type
   */
  public String toStr() {
    return (String) dataOf(STRING);
  }

  @Override
  public String toString() {
    return kind == NONE || kind == OTHER ? NAMES[kind] : NAMES[kind] + "(" + data + ")";
  }

  int kind() {
    return kind;
  }

  private Object dataOf(int wanted) {
    if (kind != wanted) {
      throw new IllegalStateException("the value is of the type " + NAMES[kind] + ", not " + NAMES[wanted]);
    }
    return data;
  }
}
