import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { parseJsonObject } from '../../functions/broker/json.ts';
import { AwsError } from './aws-error.ts';
import { jsonApi, operation } from './server.ts';

/** Stands in for CloudWatch Logs: a single log, filtered by `{ $.<member> = "<beginning>*" }`. */
export function createLogs(logGroup: string) {
  const events: { readonly eventId: string; readonly timestamp: number; readonly message: string }[] = [];
  const FilterLogEvents = operation(FILTER, ({ logGroupName, startTime, filterPattern, nextToken }) => {
    if (logGroupName !== logGroup) {
      throw new AwsError('ResourceNotFoundException', 'The specified log group does not exist.');
    }
    const start = Number(nextToken ?? 0);
    const [, member = '', beginning = ''] = PATTERN.exec(filterPattern) ?? [];
    const recent = events.filter(({ timestamp }) => timestamp >= startTime);
    const found = recent.filter(({ message }) => `${parseJsonObject(message)?.[member]}`.startsWith(beginning));
    const end = start + PAGE;
    return { events: found.slice(start, end), ...(end < found.length && { nextToken: `${end}` }) };
  });
  return {
    ...jsonApi('logs', 'Logs_20140328', { FilterLogEvents }),
    /** Adds a line to the log, which stores the last ten thousand lines. */
    add(line: string): void {
      events.push({ eventId: randomUUID(), timestamp: Date.now(), message: line.trimEnd() });
      if (events.length > KEPT) events.shift();
    },
  };
}

const KEPT = 10_000;
const PAGE = 100;
const PATTERN = /^\{ \$\.(\w+) = "([^"*]*)\*" \}$/;

const FILTER = z.object({
  logGroupName: z.string(),
  startTime: z.int().min(0).default(0),
  filterPattern: z.string().regex(PATTERN),
  nextToken: z.optional(z.string().regex(/^\d{1,9}$/)),
});
