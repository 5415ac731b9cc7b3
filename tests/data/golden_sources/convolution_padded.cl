#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(4, 4, 1))) void r_5_5_4_4_4_5_4_4_5(__global const float* restrict p0, __global const float* restrict p1, __global float* restrict p2) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  float4 s1 = ((float4)(0.0f));
  float4 s2 = ((float4)(0.0f));
  float4 s3 = ((float4)(0.0f));
  float4 s4 = ((float4)(0.0f));
  int a0 = (gx*4+gy*80+ly*20);
  bool c3 = (gx) >= 1;
  int a4 = (gy*4+ly);
  int a7 = lx*400;
  bool c10 = (gx) <= 3;
  for (int r3 = 0; r3 < 4; r3++) {
    int a1 = r3*400;
    int a8 = r3*25;
    for (int r4 = 0; r4 < 5; r4++) {
      int a2 = r4*20;
      bool c5 = (a4+r4) >= 2;
      bool c6 = (a4+r4) <= 21;
      float4 v5 = ((c3 & c5 & c6) ? LOAD_float4(p0 + (a0+a1+a2-42)) : ((float4)(((c3 & c5 & c6) ? p0[a0+a1+a2-42] : 0.0f), ((c3 & c5 & c6) ? p0[a0+a1+a2-42+1] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+2] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+3] : 0.0f))));
      int a9 = r4*5;
      float v6 = p1[a7+a8+a9];
      float v7 = p1[a7+a8+a9+100];
      float v8 = p1[a7+a8+a9+200];
      float v9 = p1[a7+a8+a9+300];
      s1 += (v5 * v6);
      s2 += (v5 * v7);
      s3 += (v5 * v8);
      s4 += (v5 * v9);
      float4 v10 = ((c3 & c5 & c6) ? LOAD_float4(p0 + (a0+a1+a2-42+1)) : ((float4)(((c3 & c5 & c6) ? p0[a0+a1+a2-42+1] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+2] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+3] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+4] : 0.0f))));
      float v11 = p1[a7+a8+a9+1];
      float v12 = p1[a7+a8+a9+101];
      float v13 = p1[a7+a8+a9+201];
      float v14 = p1[a7+a8+a9+301];
      s1 += (v10 * v11);
      s2 += (v10 * v12);
      s3 += (v10 * v13);
      s4 += (v10 * v14);
      float4 v15 = ((c5 & c6) ? LOAD_float4(p0 + (a0+a1+a2-42+2)) : ((float4)(((c5 & c6) ? p0[a0+a1+a2-42+2] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+3] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+4] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+5] : 0.0f))));
      float v16 = p1[a7+a8+a9+2];
      float v17 = p1[a7+a8+a9+102];
      float v18 = p1[a7+a8+a9+202];
      float v19 = p1[a7+a8+a9+302];
      s1 += (v15 * v16);
      s2 += (v15 * v17);
      s3 += (v15 * v18);
      s4 += (v15 * v19);
      float4 v20 = ((c10 & c5 & c6) ? LOAD_float4(p0 + (a0+a1+a2-42+3)) : ((float4)(((c5 & c6) ? p0[a0+a1+a2-42+3] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+4] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+5] : 0.0f), ((c10 & c5 & c6) ? p0[a0+a1+a2-42+6] : 0.0f))));
      float v21 = p1[a7+a8+a9+3];
      float v22 = p1[a7+a8+a9+103];
      float v23 = p1[a7+a8+a9+203];
      float v24 = p1[a7+a8+a9+303];
      s1 += (v20 * v21);
      s2 += (v20 * v22);
      s3 += (v20 * v23);
      s4 += (v20 * v24);
      float4 v25 = ((c10 & c5 & c6) ? LOAD_float4(p0 + (a0+a1+a2-42+4)) : ((float4)(((c5 & c6) ? p0[a0+a1+a2-42+4] : 0.0f), ((c5 & c6) ? p0[a0+a1+a2-42+5] : 0.0f), ((c10 & c5 & c6) ? p0[a0+a1+a2-42+6] : 0.0f), ((c10 & c5 & c6) ? p0[a0+a1+a2-42+7] : 0.0f))));
      float v26 = p1[a7+a8+a9+4];
      float v27 = p1[a7+a8+a9+104];
      float v28 = p1[a7+a8+a9+204];
      float v29 = p1[a7+a8+a9+304];
      s1 += (v25 * v26);
      s2 += (v25 * v27);
      s3 += (v25 * v28);
      s4 += (v25 * v29);
    }
  }
  int a11 = (gx*4+gy*80+lx*1600+ly*20);
  STORE_float4(s1, p2 + (a11));
  STORE_float4(s2, p2 + (a11+400));
  STORE_float4(s3, p2 + (a11+800));
  STORE_float4(s4, p2 + (a11+1200));
}
