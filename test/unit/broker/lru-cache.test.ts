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

  it('spends no room on what it does not have', () => {
    const cache = new LruCache<number>(1);
    cache.set('a', 1);
    cache.get('unknown');
    cache.set('b', 2);
    cache.set('c', 3);

    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([undefined, undefined, 3]);
  });

  it('knows which one that is after one entry was used again and again', () => {
    const cache = new LruCache<number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    for (const key of ['b', 'b', 'a', 'a']) cache.get(key);
    cache.set('c', 3);

    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
  });

  it('counts what was just stored as used', () => {
    const cache = new LruCache<number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.get('a');
    cache.set('b', 3);
    cache.get('a');
    cache.set('c', 4);

    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 4]);
  });

  it('replaces an entry without forgetting another', () => {
    const cache = new LruCache<number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.set('b', 3);

    expect([cache.get('a'), cache.get('b')]).toEqual([1, 3]);
  });
});
