package org.rushlight;

/** The description of a method in its program. */
public final class MethodMetadata {
  /** The tags of inputs and outputs. */
  public static final int TAG_NONE = EValue.NONE;

  public static final int TAG_TENSOR = EValue.TENSOR;
  public static final int TAG_INT = EValue.INT;
  public static final int TAG_DOUBLE = EValue.DOUBLE;
  public static final int TAG_BOOL = EValue.BOOL;
  public static final int TAG_STRING = EValue.STRING;
  public static final int TAG_LIST = EValue.OTHER;

  private final String name;
  private final String[] backends;
  private final int[] inputTags;
  private final int[] outputTags;

  MethodMetadata(String name, String[] backends, int[] inputTags, int[] outputTags) {
    this.name = name;
    this.backends = backends;
    this.inputTags = inputTags;
    this.outputTags = outputTags;
  }

  /** Returns the name of the method. */
  public String getName() {
    return name;
  }

  /** Returns the names of the backends that the method uses, each once. */
  public String[] getBackends() {
    return backends.clone();
  }

  /** Returns a tag for each input. */
  public int[] getInputTags() {
    return inputTags.clone();
  }

  /** Returns a tag for each output. */
  public int[] getOutputTags() {
    return outputTags.clone();
  }
}
