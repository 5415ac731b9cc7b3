#ifdef __clang__
typedef float16 float16_packed __attribute__((aligned(4)));
#define LOAD_float16(p) (*(const __global float16_packed*)(p))
#define STORE_float16(x, p) (*(__global float16_packed*)(p) = (x))
#else
#define LOAD_float16(p) vload16(0, p)
#define STORE_float16(x, p) vstore16(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void r_32_32_4_512_16_4(__global float* restrict p0, __global const float* restrict p1, __global const float* restrict p2) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  float16 s1 = ((float16)(0.0f));
  float16 s2 = ((float16)(0.0f));
  float16 s3 = ((float16)(0.0f));
  float16 s4 = ((float16)(0.0f));
  int a0 = (gy*8192+lx*2048);
  int a1 = gx*16;
  for (int r2 = 0; r2 < 512; r2++) {
    float v5 = p1[a0+r2];
    float v6 = p1[a0+r2+512];
    float v7 = p1[a0+r2+1024];
    float v8 = p1[a0+r2+1536];
    int a2 = r2*512;
    float16 v9 = LOAD_float16(p2 + (a1+a2));
    s1 += (v5 * v9);
    s2 += (v6 * v9);
    s3 += (v7 * v9);
    s4 += (v8 * v9);
  }
  int a3 = (gx*16+gy*8192+lx*2048);
  STORE_float16(s1, p0 + (a3));
  STORE_float16(s2, p0 + (a3+512));
  STORE_float16(s3, p0 + (a3+1024));
  STORE_float16(s4, p0 + (a3+1536));
}
