// An AAR with org.rushlight and librushlight_jni.so: gradle assembleRelease. Nobody has run this recipe yet.
plugins {
  id("com.android.library") version "8.7.0"
}

android {
  namespace = "org.rushlight"
  compileSdk = 34
  ndkVersion = "27.0.12077973"

  defaultConfig {
    minSdk = 23
    consumerProguardFiles("consumer-rules.pro")
    ndk { abiFilters += listOf("arm64-v8a", "x86_64") }
    externalNativeBuild {
      cmake {
        targets += "rushlight_jni"
        arguments += listOf(
            "-DANDROID_STL=c++_static", "-DCMAKE_BUILD_TYPE=Release", "-DRUSHLIGHT_BUILD_JAVA=ON",
            "-DRUSHLIGHT_BUILD_CLI=OFF", "-DRUSHLIGHT_INSTALL=OFF")
      }
    }
  }

  sourceSets["main"].java.srcDir("../src/main/java")

  compileOptions {
    sourceCompatibility = JavaVersion.VERSION_11
    targetCompatibility = JavaVersion.VERSION_11
  }

  externalNativeBuild {
    cmake {
      path = file("../../runtime/CMakeLists.txt")
      version = "3.22.1"
    }
  }
}
