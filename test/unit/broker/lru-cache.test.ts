import { describe, expect, it } from 'vitest';
import { LruCache } from '../../../functions/broker/lru-cache.ts';

describe('an LRU cache', () => {
  it('forgets the entry that was not used for longest when it is full', () => {
    const cache = new LruCache<number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.get('a');
    cache.set('c', 3);

    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
  });

  it('forgets as many as it takes to hold no more bytes than it may', () => {
    const cache = new LruCache<string>(10, 10, (value) => value.length);
    for (const key of ['a', 'b', 'c']) cache.set(key, '333');
    cache.get('a');
    cache.set('d', '7777777');

    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual(['333', undefined, undefined, '7777777']);
  });

  it('does not count entries that were replaced or forgotten', () => {
    const cache = new LruCache<string>(10, 10, (value) => value.length);
    for (let n = 0; n < 100; n += 1) cache.set('a', '55555');
    cache.set('b', '55555');
    expect([cache.get('a'), cache.get('b')]).toEqual(['55555', '55555']);
    cache.set('c', 'far too many');
    expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([undefined, undefined, undefined]);
    cache.set('d', '0123456789');
    expect(cache.get('d')).toBe('0123456789');
  });
});
