import { FIGURES } from './figures.ts';
import type { Samples } from './measure.ts';

/** Returns the value of each figure, and whether it is above its limit. */
export function resultsOf(samples: Samples) {
  return FIGURES.map(({ of, ...figure }) => {
    const value = of(samples);
    return { ...figure, value, isAbove: value > (figure.limit ?? Number.POSITIVE_INFINITY) };
  });
}

/** Returns a run as Markdown, for people and for docs/performance.md. */
export function reportOf(samples: Samples): string {
  const { rounds, node, processors } = samples;
  const rows = resultsOf(samples).map(({ name, value, limit = '', target = '' }) => [
    name,
    short(value),
    limit,
    target,
  ]);
  const above = resultsOf(samples).flatMap(({ name, value, limit = 0, isAbove }) =>
    isAbove ? `- Above its limit by ${(100 * (value / limit - 1)).toFixed(1)} %: ${name}.` : [],
  );
  return [
    `${rounds.length} ${rounds.length === 1 ? 'round' : 'rounds'} with Node ${node} on ${processors} processors.`,
    '',
    ...[['from the start of a process, and more', 'measured', 'limit', 'target'], Array(4).fill('---'), ...rows].map(
      (cells) => `| ${cells.join(' | ')} |`,
    ),
    ...(above.length > 0 ? ['', ...above] : []),
  ].join('\n');
}

function short(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
