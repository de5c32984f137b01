import { describe, expect, it } from 'vitest';
import { parseEvent } from '../../functions/aws/function-url.ts';
import { membersOf } from '../../functions/broker/json.ts';
import { assumedRoleIdentity, functionUrlEvent } from '../../local/function-url/event.ts';
import { CONTEXT } from '../support/aws/function-url-events.ts';
import { START } from '../support/example.ts';
import assumedRole from './recorded-events/assumed-role.json' with { type: 'json' };
import assumedRoleAlone from './recorded-events/assumed-role-without-organization.json' with { type: 'json' };
import iamUser from './recorded-events/iam-user.json' with { type: 'json' };
import iamUserOfOrganization from './recorded-events/iam-user-of-organization.json' with { type: 'json' };
import noAuthorizer from './recorded-events/no-authorizer.json' with { type: 'json' };

/** Published calls of a Function URL and their callers. Accounts, ids, addresses and names are reserved ones. */
const EVENTS: readonly {
  readonly source: string;
  readonly event: object;
  readonly caller?: object;
  readonly signer?: string;
}[] = [...[assumedRole, assumedRoleAlone, iamUser, iamUserOfOrganization, noAuthorizer]];

describe.each(EVENTS)('a recorded event of a Function URL: $source', ({ event, caller, signer }) => {
  const { rawPath: path, rawQueryString: query, body, headers, requestContext } = membersOf(event);
  const { http, requestId } = membersOf(requestContext);
  const { method, sourceIp } = membersOf(http);

  it('is read as the request that it is, with the role that signed it and no other caller', () => {
    const contentType = membersOf(headers)['content-type'];
    const request = { requestId, method, path, query, body: body ?? '', contentType, sourceIp, caller, signer };
    expect(parseEvent(event, CONTEXT, START)).toEqual({ ...request, deadline: START + 14_500 });
  });

  it('has every member of the event that npm start makes of the same request, of the same type', () => {
    const sent = Object.entries(membersOf(headers));
    const request = { method, path, query, headers: sent, body: Buffer.from(`${body ?? ''}`) };
    const iam = assumedRoleIdentity('arn:aws:iam::111111111111:role/billing', 'ASIAEXAMPLE');
    expect(differences(functionUrlEvent(request as never, iam, 'id'), event)).toEqual([]);
  });
});

/** Where a made event differs in form from a recorded one. Some members are null, 0 or absent, as AWS likes. */
function differences(made: unknown, recorded: unknown, place = ''): readonly string[] {
  return Object.entries(membersOf(made)).flatMap(([name, value]) => {
    const real = membersOf(recorded)[name];
    if (name === 'headers' || !(real || /^(body|rawQueryString)$/.test(name))) {
      return OPTIONAL.test(name) ? [] : [`${place}${name} was not recorded`];
    }
    if (typeof value === 'object' && value !== null) return differences(value, real, `${place}${name}.`);
    return typeof value === typeof real ? [] : [`${place}${name} is ${typeof value}, and was ${typeof real}`];
  });
}

const OPTIONAL = /^(headers|authorizer|body|isBase64Encoded)$/;
