import { describe, expect, it } from 'vitest';
import { EventClock } from '../../bench/fleet/event-clock.ts';
import { createRandom } from '../../bench/fleet/random.ts';
import { Sandbox } from '../../bench/fleet/sandbox.ts';

describe('the clock of a simulation', () => {
  it('lets events happen in the order of their times, and of their planning when these are the same', async () => {
    const { uniform } = createRandom(1, 'test');
    const clock = new EventClock(0);
    const planned = Array.from({ length: 1_000 }, (_, n) => ({ n, at: Math.floor(uniform() * 100) }));
    const happened: typeof planned = [];
    for (const event of planned) clock.after(event.at, () => happened.push(event));
    await clock.run(100);
    expect(happened).toEqual(planned.toSorted((one, other) => one.at - other.at || one.n - other.n));
  });

  it('lets every promise that an event has made ready go on before the next event', async () => {
    const clock = new EventClock(0);
    const story: string[] = [];
    const tell = async () => {
      await clock.sleep(10);
      for (let step = 0; step < 50; step += 1) await Promise.resolve();
      story.push(`the first is done at ${clock.now()}`);
    };
    void tell();
    clock.after(11, () => story.push('the second'));
    await clock.run(20);
    expect(story).toEqual(['the first is done at 10', 'the second']);
  });

  it('stops at the end of the time, with what was planned for later still ahead', async () => {
    const clock = new EventClock(1_000);
    const happened: number[] = [];
    for (const ms of [5, 15]) clock.after(ms, () => happened.push(clock.now()));
    await clock.run(1_010);
    expect({ now: clock.now(), happened }).toEqual({ now: 1_010, happened: [1_005] });
    await clock.run(1_020);
    expect(happened).toEqual([1_005, 1_015]);
  });

  it('ends early, at the moment that it has reached, when a story asks for it', async () => {
    const clock = new EventClock(0);
    const tick = () => clock.after(1, tick);
    tick();
    await clock.run(1_000_000, () => clock.now() > 10_000);
    expect(clock.now()).toBeGreaterThan(10_000);
    expect(clock.now()).toBeLessThan(20_000);
  });
});

describe('the sandbox of an environment', () => {
  it('keeps what comes while it is frozen until it thaws', async () => {
    const clock = new EventClock(0);
    const sandbox = new Sandbox(clock);
    const arrived: number[] = [];
    sandbox.after(10, () => arrived.push(clock.now()));
    await clock.run(20);
    expect(arrived).toEqual([]);
    sandbox.thaw();
    expect(arrived).toEqual([20]);
  });

  it('receives nothing after it has crashed', async () => {
    const clock = new EventClock(0);
    const sandbox = new Sandbox(clock);
    const arrived: number[] = [];
    sandbox.thaw();
    sandbox.after(10, () => arrived.push(clock.now()));
    sandbox.crash();
    await clock.run(20);
    expect(arrived).toEqual([]);
  });
});
