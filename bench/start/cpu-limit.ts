import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Gives a process the share of a processor that Lambda gives to a function of 512 MB. */
export interface CpuLimit {
  readonly apply: (pid: number) => void;
  /** To be called when the process has ended. */
  readonly remove: () => void;
}

/** 512 MB of the 1 769 MB that make one processor. */
export const CPU_SHARE = 0.29;

/** A limit that takes effect when it is applied; throws on a machine that has no control groups to write to. */
export function createCpuLimit(): CpuLimit {
  const group = join(parentGroup(), `bench-${process.pid}-${groups++}`);
  mkdirSync(group);
  if (existsSync(join(group, 'cpu.max'))) {
    writeFileSync(join(group, 'cpu.max'), `${QUOTA_US} ${PERIOD_US}`);
  } else {
    writeFileSync(join(group, 'cpu.cfs_period_us'), `${PERIOD_US}`);
    writeFileSync(join(group, 'cpu.cfs_quota_us'), `${QUOTA_US}`);
  }
  return {
    apply: (pid) => writeFileSync(join(group, 'cgroup.procs'), `${pid}`),
    remove: () => rmdirSync(group),
  };
}

/** Why there can be no limit on this machine; `undefined` when there can. */
export function whyNoCpuLimit(): string | undefined {
  try {
    createCpuLimit().remove();
    return undefined;
  } catch (error) {
    return `no control group can be made here: ${error instanceof Error ? error.message : ''}`;
  }
}

let groups = 0;

/** Far shorter than the invocations that are measured: each of them stands still until a period ends. */
const PERIOD_US = 10_000;
const QUOTA_US = PERIOD_US * CPU_SHARE;

/** Of the first or of the second version of control groups. */
function parentGroup(): string {
  const [, own = '/'] = /^\d+:(?:cpu|cpu,cpuacct):(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
  const candidates = ['cpu', 'cpu,cpuacct', ''].flatMap((name) => [
    join('/sys/fs/cgroup', name, own),
    join('/sys/fs/cgroup', name),
  ]);
  const found = candidates.find(
    (folder) => existsSync(join(folder, 'cpu.cfs_quota_us')) || existsSync(join(folder, 'cgroup.subtree_control')),
  );
  if (found === undefined) throw new Error('there are no control groups for processors');
  return found;
}
