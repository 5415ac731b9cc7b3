#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
#ifdef __clang__
typedef float16 float16_packed __attribute__((aligned(4)));
#define LOCAL_LOAD_float16(p) (*(const __local float16_packed*)(p))
#define LOCAL_STORE_float16(x, p) (*(__local float16_packed*)(p) = (x))
#else
#define LOCAL_LOAD_float16(p) vload16(0, p)
#define LOCAL_STORE_float16(x, p) vstore16(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void r_4_256_4_1024(__global const float* restrict p0, __global float* restrict p1) {
  __local float shared10[256];
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  float s1 = 0.0f;
  int a0 = gx*1024;
  for (int r2 = 0; r2 < 1024; r2++) {
    float v2 = p0[a0+r2];
    s1 = (s1 + v2);
  }
  float4 s3 = ((float4)(0.0f));
  int a1 = (gx*1024+lx*4);
  float4 v4 = LOAD_float4(p0 + (a1));
  float v5 = (s1 * 0.0009765625f);
  float4 v6 = (v4 + (v5 * (-1.0f)));
  s3 += (v6 * v6);
  float2 v7 = (s3.lo + s3.hi);
  float v8 = (v7.s0 + v7.s1);
  float s9 = v8;
  shared10[lx+0] = s9;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lx == 0) {
    float s11;
    float16 v12 = LOCAL_LOAD_float16(shared10 + 0);
    for (int q = 16; q < 256; q += 16) {
      v12 = (v12 + LOCAL_LOAD_float16(shared10 + 0+q));
    }
    float8 v13 = (v12.lo + v12.hi);
    float4 v14 = (v13.lo + v13.hi);
    float2 v15 = (v14.lo + v14.hi);
    float v16 = (v15.s0 + v15.s1);
    s11 = v16;
    float v17 = (s11 * 0.0009765625f);
    p1[gx] = v17;
  }
}
