-- SPDX-License-Identifier: Apache-2.0
{-# LANGUAGE BangPatterns #-}
module Main where
import qualified Data.Map.Strict as M
import Data.List (foldl')

leaf :: Int -> Int
leaf n = go 0 0 where
  go !acc !i | i >= n = acc
             | otherwise = go (acc + i * (i `mod` 7)) (i + 1)
{-# NOINLINE leaf #-}

inner :: Int -> M.Map Int Int -> M.Map Int Int
inner n m = let !x = leaf n in M.insertWith (+) (x `mod` 1000) 1 m
{-# NOINLINE inner #-}

outer :: Int -> M.Map Int Int -> IO (M.Map Int Int)
outer n m = do
  let !m' = foldl' (\a k -> inner (n + k) a) m [1 .. 50]
  return m'
{-# NOINLINE outer #-}

loop :: Int -> M.Map Int Int -> IO ()
loop k m | k > 3000000 = print (M.size m)
         | otherwise = outer (k `mod` 300) m >>= \m' -> loop (k + 1) m'

main :: IO ()
main = loop 0 M.empty
