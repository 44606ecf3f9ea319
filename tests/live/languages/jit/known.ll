; SPDX-License-Identifier: Apache-2.0
; A chain of functions, then one of three leaves, as LLVM's just-in-time compiler gets them. Each
; keeps a frame pointer, as those of Julia do. A leaf works until %clock, which the program gives,
; is %ns further on. Lines are those of !DILocation.

@sink = global i64 1

define void @leaf_a(i64 %ns, i64 ()* %clock) #0 !dbg !2 {
	%begin = call i64 %clock(), !dbg !21
	%end = add i64 %begin, %ns, !dbg !21
	br label %turn, !dbg !21
turn:
	br label %spin, !dbg !22
spin:
	%i = phi i64 [ 0, %turn ], [ %next, %spin ]
	%old = load volatile i64, i64* @sink, !dbg !22
	%new = mul i64 %old, 3, !dbg !22
	store volatile i64 %new, i64* @sink, !dbg !22
	%next = add i64 %i, 1, !dbg !22
	%again = icmp ult i64 %next, 2000, !dbg !22
	br i1 %again, label %spin, label %check, !dbg !22
check:
	%now = call i64 %clock(), !dbg !23
	%early = icmp ult i64 %now, %end, !dbg !23
	br i1 %early, label %turn, label %done, !dbg !23
done:
	ret void, !dbg !23
}

define void @leaf_b(i64 %ns, i64 ()* %clock) #0 !dbg !3 {
	%begin = call i64 %clock(), !dbg !31
	%end = add i64 %begin, %ns, !dbg !31
	br label %turn, !dbg !31
turn:
	br label %spin, !dbg !32
spin:
	%i = phi i64 [ 0, %turn ], [ %next, %spin ]
	%old = load volatile i64, i64* @sink, !dbg !32
	%new = mul i64 %old, 3, !dbg !32
	store volatile i64 %new, i64* @sink, !dbg !32
	%next = add i64 %i, 1, !dbg !32
	%again = icmp ult i64 %next, 2000, !dbg !32
	br i1 %again, label %spin, label %check, !dbg !32
check:
	%now = call i64 %clock(), !dbg !33
	%early = icmp ult i64 %now, %end, !dbg !33
	br i1 %early, label %turn, label %done, !dbg !33
done:
	ret void, !dbg !33
}

define void @leaf_c(i64 %ns, i64 ()* %clock) #0 !dbg !4 {
	%begin = call i64 %clock(), !dbg !41
	%end = add i64 %begin, %ns, !dbg !41
	br label %turn, !dbg !41
turn:
	br label %spin, !dbg !42
spin:
	%i = phi i64 [ 0, %turn ], [ %next, %spin ]
	%old = load volatile i64, i64* @sink, !dbg !42
	%new = mul i64 %old, 3, !dbg !42
	store volatile i64 %new, i64* @sink, !dbg !42
	%next = add i64 %i, 1, !dbg !42
	%again = icmp ult i64 %next, 2000, !dbg !42
	br i1 %again, label %spin, label %check, !dbg !42
check:
	%now = call i64 %clock(), !dbg !43
	%early = icmp ult i64 %now, %end, !dbg !43
	br i1 %early, label %turn, label %done, !dbg !43
done:
	ret void, !dbg !43
}

define i64 @f1(void (i64, i64 ()*)* %leaf, i64 %ns, i64 ()* %clock) #0 !dbg !5 {
	call void %leaf(i64 %ns, i64 ()* %clock), !dbg !51
	ret i64 1, !dbg !51
}

define i64 @f2(void (i64, i64 ()*)* %leaf, i64 %ns, i64 ()* %clock) #0 !dbg !6 {
	%n = call i64 @f1(void (i64, i64 ()*)* %leaf, i64 %ns, i64 ()* %clock), !dbg !61
	%sum = add i64 %n, 1, !dbg !61
	ret i64 %sum, !dbg !61
}

define i64 @f3(void (i64, i64 ()*)* %leaf, i64 %ns, i64 ()* %clock) #0 !dbg !7 {
	%n = call i64 @f2(void (i64, i64 ()*)* %leaf, i64 %ns, i64 ()* %clock), !dbg !71
	%sum = add i64 %n, 1, !dbg !71
	ret i64 %sum, !dbg !71
}

attributes #0 = { noinline "frame-pointer"="all" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!90, !91}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "known", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "known.src", directory: "/src")
!8 = !DISubroutineType(types: !{})
!90 = !{i32 2, !"Dwarf Version", i32 4}
!91 = !{i32 2, !"Debug Info Version", i32 3}
!2 = distinct !DISubprogram(name: "leaf_a", scope: !1, file: !1, line: 10, type: !8, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!21 = !DILocation(line: 11, column: 2, scope: !2)
!22 = !DILocation(line: 12, column: 2, scope: !2)
!23 = !DILocation(line: 13, column: 2, scope: !2)
!3 = distinct !DISubprogram(name: "leaf_b", scope: !1, file: !1, line: 20, type: !8, scopeLine: 20, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!31 = !DILocation(line: 21, column: 2, scope: !3)
!32 = !DILocation(line: 22, column: 2, scope: !3)
!33 = !DILocation(line: 23, column: 2, scope: !3)
!4 = distinct !DISubprogram(name: "leaf_c", scope: !1, file: !1, line: 30, type: !8, scopeLine: 30, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!41 = !DILocation(line: 31, column: 2, scope: !4)
!42 = !DILocation(line: 32, column: 2, scope: !4)
!43 = !DILocation(line: 33, column: 2, scope: !4)
!5 = distinct !DISubprogram(name: "f1", scope: !1, file: !1, line: 40, type: !8, scopeLine: 40, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!51 = !DILocation(line: 41, column: 2, scope: !5)
!6 = distinct !DISubprogram(name: "f2", scope: !1, file: !1, line: 50, type: !8, scopeLine: 50, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!61 = !DILocation(line: 51, column: 2, scope: !6)
!7 = distinct !DISubprogram(name: "f3", scope: !1, file: !1, line: 60, type: !8, scopeLine: 60, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!71 = !DILocation(line: 61, column: 2, scope: !7)
