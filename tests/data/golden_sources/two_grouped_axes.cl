#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#define LOCAL_LOAD_float4(p) (*(const __local float4_packed*)(p))
#define LOCAL_STORE_float4(x, p) (*(__local float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#define LOCAL_LOAD_float4(p) vload4(0, p)
#define LOCAL_STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(4, 3, 1))) void r_2_3_4_3_2_4(__global const float* restrict p0, __global float* restrict p1) {
  __local float shared6[12];
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  float4 s1 = ((float4)(0.0f));
  int a0 = (gx*12+gy*288+lx*36+ly*4);
  for (int r4 = 0; r4 < 2; r4++) {
    int a1 = r4*144;
    float4 v2 = LOAD_float4(p0 + (a0+a1));
    s1 = (s1 + v2);
  }
  float2 v3 = (s1.lo + s1.hi);
  float v4 = (v3.s0 + v3.s1);
  float s5 = v4;
  int a2 = (lx*3+ly);
  shared6[a2+0] = s5;
  barrier(CLK_LOCAL_MEM_FENCE);
  if ((lx+ly) == 0) {
    float s7;
    float4 v8 = LOCAL_LOAD_float4(shared6 + 0);
    for (int q = 4; q < 12; q += 4) {
      v8 = (v8 + LOCAL_LOAD_float4(shared6 + 0+q));
    }
    float2 v9 = (v8.lo + v8.hi);
    float v10 = (v9.s0 + v9.s1);
    s7 = v10;
    int a3 = (gx+gy*3);
    p1[a3] = s7;
  }
}
