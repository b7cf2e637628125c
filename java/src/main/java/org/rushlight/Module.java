package org.rushlight;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A program and its methods. Methods are loaded at their first use. Any number of threads may use a module; one
 * method runs at a time, and modules of the same program run at the same time. The names are the same as in
 * ExecuTorch's Android API.
 *
 * <p>{@link #destroy()} frees the native memory. Without it, a later {@code load} frees the memory after the module
 * has been garbage-collected.
 */
public final class Module implements AutoCloseable {
  /** The file is read into memory. */
  public static final int LOAD_MODE_FILE = 0;

  /** The file is mapped into memory. */
  public static final int LOAD_MODE_MMAP = 1;

  static {
    final String path = System.getProperty("org.rushlight.library");
    if (path == null) {
      System.loadLibrary("rushlight_jni");
    } else {
      System.load(path);
    }
  }

  private final Peer peer;

  private Module(long handle, Object program) {
    peer = new Peer(this, handle, program);
  }

  /**
   * Loads a program from a file, with one thread for each physical core.
   *
   * @param modelPath the path of a .pte file
   */
  public static Module load(String modelPath) {
    return load(modelPath, LOAD_MODE_FILE);
  }

  /**
   * Loads a program from a file, with one thread for each physical core.
   *
   * @param modelPath the path of a .pte file
   * @param loadMode {@link #LOAD_MODE_FILE} or {@link #LOAD_MODE_MMAP}
   */
  public static Module load(String modelPath, int loadMode) {
    return load(modelPath, loadMode, 0);
  }

  /**
   * Loads a program from a file.
   *
   * @param modelPath the path of a .pte file
   * @param loadMode {@link #LOAD_MODE_FILE} or {@link #LOAD_MODE_MMAP}
   * @param numThreads the number of threads; 0 means one for each physical core
   * @throws IllegalArgumentException if an argument is invalid
   * @throws RushlightRuntimeException if the file cannot be read or is not a program
   */
  public static Module load(String modelPath, int loadMode, int numThreads) {
    if (loadMode != LOAD_MODE_FILE && loadMode != LOAD_MODE_MMAP) {
      throw new IllegalArgumentException("loadMode is " + loadMode + "; it must be LOAD_MODE_FILE or LOAD_MODE_MMAP");
    }
    final byte[] path = utf8(modelPath, "modelPath");
    checkThreads(numThreads);
    Peer.freeCollected();
    return new Module(loadFile(path, loadMode == LOAD_MODE_MMAP, numThreads), null);
  }

  /**
   * Loads a program from its bytes, which are copied.
   *
   * @param program the bytes of a .pte file
   * @param numThreads the number of threads; 0 means one for each physical core
   * @throws IllegalArgumentException if an argument is invalid
   * @throws RushlightRuntimeException if the bytes are not a program
   */
  public static Module load(byte[] program, int numThreads) {
    if (program == null) throw new IllegalArgumentException("program is null");
    checkThreads(numThreads);
    Peer.freeCollected();
    return new Module(loadBytes(program, numThreads), null);
  }

  /**
   * Loads a program from a direct buffer, which must not change while the module is used. A buffer that is
   * aligned to 64 bytes is used in place.
   *
   * @param program the bytes of a .pte file, from the position to the limit of the buffer
   * @param numThreads the number of threads; 0 means one for each physical core
   * @throws IllegalArgumentException if an argument is invalid
   * @throws RushlightRuntimeException if the bytes are not a program
   */
  public static Module load(ByteBuffer program, int numThreads) {
    if (program == null || !program.isDirect()) {
      throw new IllegalArgumentException("program is " + (program == null ? "null" : "not a direct buffer"));
    }
    checkThreads(numThreads);
    Peer.freeCollected();
    return new Module(loadBuffer(program, program.position(), program.remaining(), numThreads), program);
  }

  /**
   * Runs the method "forward".
   *
   * @param inputs the inputs of the method, all of them
   * @return the outputs; tensors are copies in row-major order
   * @throws IllegalArgumentException if an input is invalid; the message contains its index
   * @throws IllegalStateException if the module was destroyed
   * @throws RushlightRuntimeException if the method cannot be loaded or fails
   */
  public EValue[] forward(EValue... inputs) {
    return execute("forward", inputs);
  }

  /**
   * Runs a method.
   *
   * @param methodName the name of the method
   * @param inputs the inputs of the method, all of them
   * @return the outputs; tensors are copies in row-major order
   * @throws IllegalArgumentException if an input is invalid; the message contains its index
   * @throws IllegalStateException if the module was destroyed
   * @throws RushlightRuntimeException if the method cannot be loaded or fails
   */
  public EValue[] execute(String methodName, EValue... inputs) {
    final byte[] name = utf8(methodName, "methodName");
    if (inputs == null) throw new IllegalArgumentException("inputs is null");
    final long[] longs = new long[inputs.length * Values.LONGS];
    final Object[] buffers = new Object[inputs.length];
    for (int i = 0; i < inputs.length; ++i) {
      if (inputs[i] == null) throw new IllegalArgumentException("input " + i + " of " + methodName + " is null");
      buffers[i] = Values.write(inputs[i], longs, i);
    }
    final long handle = peer.lock();
    try {
      return outputs(handle, name, run(handle, name, longs, buffers));
    } finally {
      peer.unlock();
    }
  }

  /**
   * Loads a method, so that its first run takes no longer than later runs.
   *
   * @param methodName the name of the method
   * @throws IllegalStateException if the module was destroyed
   * @throws RushlightRuntimeException if the method cannot be loaded; the message names missing operators or backends
   */
  public void loadMethod(String methodName) {
    final byte[] name = utf8(methodName, "methodName");
    final long handle = peer.lock();
    try {
      loadMethod(handle, name);
    } finally {
      peer.unlock();
    }
  }

  /**
   * Returns the names of the methods.
   *
   * @throws IllegalStateException if the module was destroyed
   */
  public String[] getMethods() {
    final long handle = peer.lock();
    try {
      final String[] names = new String[methodCount(handle)];
      for (int i = 0; i < names.length; ++i) names[i] = new String(methodName(handle, i), StandardCharsets.UTF_8);
      return names;
    } finally {
      peer.unlock();
    }
  }

  /**
   * Describes a method. The method need not be loaded.
   *
   * @param name the name of the method
   * @throws IllegalStateException if the module was destroyed
   * @throws RushlightRuntimeException if the program has no such method
   */
  public MethodMetadata getMethodMetadata(String name) {
    final byte[] method = utf8(name, "name");
    final long handle = peer.lock();
    try {
      final int[] inputs = kinds(handle, method, true);
      final int[] outputs = kinds(handle, method, false);
      final Set<String> backends = new LinkedHashSet<>();
      for (int i = 0; ; ++i) {
        final byte[] backend = backendName(handle, method, i);
        if (backend == null) break;
        backends.add(new String(backend, StandardCharsets.UTF_8));
      }
      return new MethodMetadata(name, backends.toArray(new String[0]), inputs, outputs);
    } finally {
      peer.unlock();
    }
  }

  /** Frees the native memory, after a running method has ended. Later calls do nothing. */
  public void destroy() {
    peer.destroy();
  }

  /** Does the same as {@link #destroy()}. */
  @Override
  public void close() {
    destroy();
  }

  private static EValue[] outputs(long handle, byte[] name, long[] longs) {
    final EValue[] values = new EValue[longs.length / Values.LONGS];
    for (int i = 0; i < values.length; ++i) {
      final int kind = Values.kind(longs, i);
      ByteBuffer buffer = null;
      if (kind == EValue.TENSOR || kind == EValue.STRING) {
        final long bytes = Values.bytes(longs, i);
        if (bytes > Integer.MAX_VALUE) {
          throw new RushlightRuntimeException(
              RushlightRuntimeException.OUT_OF_RESOURCES,
              "output " + i + " has " + bytes + " bytes; a buffer has at most " + Integer.MAX_VALUE);
        }
        buffer = Tensor.allocateByteBuffer((int) bytes);
        copyOutput(handle, name, i, buffer);
      }
      values[i] = Values.read(longs, i, buffer);
    }
    return values;
  }

  private static byte[] utf8(String text, String argument) {
    if (text == null) throw new IllegalArgumentException(argument + " is null");
    if (text.indexOf('\0') >= 0) throw new IllegalArgumentException(argument + " has the character NUL");
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void checkThreads(int numThreads) {
    if (numThreads < 0) throw new IllegalArgumentException("numThreads is " + numThreads + "; it must not be negative");
  }

  // The native object of a module. If destroy() was not called, the first load after garbage collection frees it.
  private static final class Peer extends PhantomReference<Module> {
    private static final ReferenceQueue<Module> COLLECTED = new ReferenceQueue<>();
    private static final Set<Peer> ALIVE = ConcurrentHashMap.newKeySet();

    private final ReentrantLock lock = new ReentrantLock();
    private long handle; // 0 after destroy()
    private Object program; // the buffer that the native object reads

    Peer(Module module, long handle, Object program) {
      super(module, COLLECTED);
      this.handle = handle;
      this.program = program;
      ALIVE.add(this);
    }

    static void freeCollected() {
      final List<Peer> found = new ArrayList<>();
      for (Reference<? extends Module> next = COLLECTED.poll(); next != null; next = COLLECTED.poll()) {
        found.add((Peer) next);
      }
      for (Peer peer : found) peer.destroy();
    }

    long lock() {
      lock.lock();
      if (handle == 0) {
        lock.unlock();
        throw new IllegalStateException("the module was destroyed");
      }
      return handle;
    }

    void unlock() {
      lock.unlock();
    }

    void destroy() {
      lock.lock();
      try {
        if (handle != 0) free(handle);
        handle = 0;
        program = null;
        ALIVE.remove(this);
      } finally {
        lock.unlock();
      }
    }
  }

  // These functions return a handle, which is never 0, or throw an exception.
  private static native long loadFile(byte[] path, boolean isMapped, int threads);

  private static native long loadBytes(byte[] program, int threads);

  private static native long loadBuffer(ByteBuffer program, long offset, long size, int threads);

  private static native void free(long handle);

  private static native int methodCount(long handle);

  private static native byte[] methodName(long handle, int index);

  // Returns null if the index is too large.
  private static native byte[] backendName(long handle, byte[] method, int index);

  private static native int[] kinds(long handle, byte[] method, boolean ofInputs);

  private static native void loadMethod(long handle, byte[] name);

  private static native long[] run(long handle, byte[] name, long[] inputs, Object[] buffers);

  private static native void copyOutput(long handle, byte[] name, int index, ByteBuffer buffer);
}
