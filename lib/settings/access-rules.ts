import { z } from 'zod';
import { ROLE_ARN, roleArnFault } from '../../functions/vocabulary.ts';
import { partitionOf } from './names.ts';
import { type Fault, listOf, nameFault, text } from './schema.ts';

const notEmpty = { error: 'must not be empty' };

const namesOrAll = z.union([z.literal('all'), listOf(text(listedNameFault)).min(1, notEmpty)], {
  error: ({ input }) => (input === undefined ? 'is missing' : "must be 'all' or a list of names"),
});

/** Which role may act for which clients on which services. */
export const accessRuleSchema = z.strictObject({
  role: text(roleArnFault),
  // Shuts out a role that was deleted and made again under the same name; `aws iam get-role` shows it as RoleId.
  roleId: text((id) =>
    /^AROA[A-Z0-9]{12,124}$/.test(id) ? undefined : 'must be the unique id of a role: AROA…',
  ).optional(),
  clients: namesOrAll,
  services: namesOrAll,
  operations: listOf(z.enum(['token', 'check']))
    .min(1, notEmpty)
    .default(['token']),
});

function listedNameFault(name: string): string | undefined {
  return name === 'all' ? "must stand alone, not in a list: 'all'" : nameFault(name);
}

/**
 * The contradictions between valid access rules, and between a rule and the services and the region of its environment;
 * the schema finds the faults within a rule.
 */
export function accessRuleFaults(settings: unknown): readonly Fault[] {
  const { region, services, accessRules } = readable.parse(settings);
  const known = Object.keys(services);
  const partition = partitionOf(region);
  const firstOf = new Map<string, { readonly index: number; readonly arn: string }>();

  return accessRules.flatMap((input, index) => {
    const { data: rule } = accessRuleSchema.safeParse(input);
    const role = parseRoleArn(rule?.role ?? '');
    if (rule === undefined || role === undefined) return [];
    const at = (...path: PropertyKey[]) => ['accessRules', index, ...path];
    const faults: Fault[] = (rule.services === 'all' ? [] : rule.services).flatMap((service, place) =>
      known.length === 0 || known.includes(service)
        ? []
        : [{ path: at('services', place), reason: `is not one of the services (${known.join(', ')})` }],
    );
    // A caller arrives without its role's path, so the broker could not tell two such roles apart.
    const first = firstOf.get(JSON.stringify(role)) ?? { index, arn: rule.role };
    firstOf.set(JSON.stringify(role), first);
    if (first.arn !== rule.role) {
      const reason = `differs only by its path from the role of accessRules[${first.index}], which the broker cannot see`;
      faults.push({ path: at('role'), reason });
    }
    // A role signs for its own partition only, so a rule for another one would never apply.
    if (region !== '' && role.partition !== partition) {
      faults.push({ path: at('role'), reason: `must start with arn:${partition}: like the region's own` });
    }
    return faults;
  });
}

/** The readable part of settings that may be wrong anywhere. */
const readable = z
  .object({
    region: z.string().catch(''),
    services: z.record(z.string(), z.unknown()).catch({}),
    accessRules: z.array(z.unknown()).catch([]),
  })
  .catch({ region: '', services: {}, accessRules: [] });

/** The parts of a role's ARN that a caller arrives with; the path of the role is not among them. */
export interface Role {
  readonly partition: string;
  readonly account: string;
  readonly name: string;
}

/** Reads `arn:aws:iam::<account>:role/<path/><name>`; `undefined` for anything else, see `roleArnFault`. */
export function parseRoleArn(arn: string): Role | undefined {
  const [, partition, account, name] = ROLE_ARN.exec(arn) ?? [];
  if (partition === undefined || account === undefined || name === undefined) return undefined;
  return { partition, account, name };
}

/** The accounts whose roles the access rules name, each once. */
export function callerAccounts(accessRules: readonly { readonly role: string }[]): readonly string[] {
  const accounts = accessRules.map(({ role }) => parseRoleArn(role)?.account ?? '');
  return [...new Set(accounts)].toSorted();
}

/**
 * The limit of the alias's policy: 20 480 bytes, with two statements for each account.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
export const MAX_CALLER_ACCOUNTS = 25;
