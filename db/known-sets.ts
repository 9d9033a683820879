import { LRUCache } from 'lru-cache';
import type { Queryable } from './client.js';
import { parameters } from './parameters.js';
import type { Branches } from './request-branch.js';

/** If PostgreSQL's clock was set back, changes are missed, but no longer than this. */
const keptMs = 600_000;
const maxSets = 100;

/** What is remembered of one set. */
export interface Memory<T> {
  get(): T | undefined;
  learn(value: T): void;
  /** Replaces what is known by what follows from it: kept no longer than what it follows from. */
  extend(value: T): void;
  forget(): void;
}

/** What this process remembers of the sets of each database. The least recently used ones are dropped, also if all together have more than `maxSize`. */
export function memoryOfSets<T extends object>(
  size: { maxSize?: number; sizeCalculation?: (value: T) => number } = {},
): (db: Queryable, set: Branches, more?: string) => Memory<T> {
  const byDatabase = new WeakMap<Queryable, LRUCache<string, T>>();
  const newCache = () => new LRUCache<string, T>({ max: maxSets, ttl: keptMs, ttlResolution: 0, ...size });
  return (db, set, more = '') => {
    const cache = byDatabase.get(db) ?? newCache();
    byDatabase.set(db, cache);
    const p = parameters();
    const key = JSON.stringify([set(p), p.values, more]);
    return {
      get: () => cache.get(key),
      learn: (value) => void cache.set(key, value),
      extend: (value) => void cache.set(key, value, { noUpdateTTL: true }),
      forget: () => void cache.delete(key),
    };
  };
}
