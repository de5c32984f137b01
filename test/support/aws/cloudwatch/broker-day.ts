import { createAuditLog } from '../../../../functions/aws/log/audit-log.ts';
import { createBrokerWorld } from '../../broker-world.ts';
import { exampleRule } from '../../example.ts';

/** The real rules of the broker, and the lines that their audit log writes. */
export function createBrokerDay() {
  const lines: string[] = [];
  const accessRules = [exampleRule({ services: 'all' })];
  const day = createBrokerWorld({ accessRules, audit: (record) => audit(record) });
  const audit = createAuditLog({
    environment: 'test',
    version: '1',
    services: new Set(Object.keys(day.world.services)),
    rulesDigest: '00ff00ff00ff00ff',
    refusedRoles: new Set(['aws:111111111111:probe']),
    now: () => day.clock.now,
    write: (line) => lines.push(line),
  });
  return { ...day, lines };
}
