--  SPDX-License-Identifier: Apache-2.0
with Ada.Containers.Ordered_Maps;

procedure Work is
   package Maps is new Ada.Containers.Ordered_Maps (Integer, Integer);

   function Fib (N : Integer) return Integer is
     (if N < 2 then N else Fib (N - 1) + Fib (N - 2));

   function Counts (N : Integer) return Integer is
      M : Maps.Map;
   begin
      for I in 1 .. N loop
         M.Include (I * 7919 mod 997, I);
      end loop;
      return Integer (M.Length);
   end Counts;

   function Raised (N : Integer) return Integer is
      S : Integer := 0;
   begin
      for I in 1 .. N loop
         begin
            S := S + Integer'Value (if I mod 3 = 0 then "x" else I'Image);
         exception
            when Constraint_Error => S := S + 1;
         end;
      end loop;
      return S;
   end Raised;

   task type Worker;
   task body Worker is
      Sum : Long_Integer := 0;
   begin
      loop
         Sum := (Sum + Long_Integer (Fib (24) + Counts (20_000) + Raised (1_000))) mod 1_000_003;
      end loop;
   end Worker;

   Workers : array (1 .. 2) of Worker;
   pragma Unreferenced (Workers);
begin
   null;
end Work;
