{ SPDX-License-Identifier: Apache-2.0 }
{$mode objfpc}{$H+}
uses SysUtils, Classes;

function Fib(n: Integer): Integer;
begin
  if n < 2 then Result := n else Result := Fib(n - 1) + Fib(n - 2);
end;

function Sorted(n: Integer): Integer;
var
  l: TStringList;
  i: Integer;
begin
  l := TStringList.Create;
  try
    for i := 0 to n do l.Add(Format('%d-%s', [i * 7919 mod 10007, IntToHex(i, 6)]));
    l.Sort;
    Result := l.Count;
  finally
    l.Free;
  end;
end;

function Raised(n: Integer): Integer;
var i: Integer;
begin
  Result := 0;
  for i := 1 to n do
    try
      if i mod 3 = 0 then StrToInt('x') else Result += i;
    except
      on EConvertError do Inc(Result);
    end;
end;

var sum: Int64 = 0;
begin
  while True do sum := (sum + Fib(24) + Sorted(5000) + Raised(3000)) mod 1000003;
end.
