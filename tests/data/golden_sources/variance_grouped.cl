#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void r_4_256_4_1024(__global const float* restrict p0, __global float* restrict p1) {
  __local float shared11[256];
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
  float v6 = (v5 * (-1.0f));
  float4 v7 = (v4 + v6);
  s3 += (v7 * v7);
  float2 v8 = (s3.lo + s3.hi);
  float v9 = (v8.s0 + v8.s1);
  float s10 = v9;
  shared11[lx+0] = s10;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lx == 0) {
  for (int q = 1; q < 256; q++) {
    s10 = (s10 + shared11[0+q*1+0]);
  }
  }
  if (lx == 0) {
    float v12 = (s10 * 0.0009765625f);
    p1[gx] = v12;
  }
}
