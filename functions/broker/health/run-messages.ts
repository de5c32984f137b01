import { type News, pairNews } from './pair-messages.ts';
import type { BrokerObservation, Observation, ProbeObservation, ServiceObservation } from './transitions.ts';

/** What an observation means, and what an operator does about it. */
export function newsOf(environment: string, observation: Observation): News {
  switch (observation.kind) {
    case 'pair':
      return pairNews(environment, observation);
    case 'service':
      return serviceNews(observation);
    case 'broker':
      return brokerNews(environment, observation);
    case 'probe':
      return probeNews(observation);
  }
}

function serviceNews({ service, condition }: ServiceObservation): News {
  const facts = [['service', service]] as const;
  if (condition === 'answering') {
    return {
      headline: `${service} answers again`,
      sentence: `${service} answers token requests again. This ends the incident.`,
      facts,
      whatToDo: 'nothing. Clients that still get no answer are told about one by one.',
    };
  }
  return {
    headline: `incident: ${service} does not answer`,
    sentence:
      `${service} answers hardly any token request. Callers are served with the tokens that are still good. Until it ` +
      'is over, clients that get no answer of this service are not told about one by one.',
    facts,
    whatToDo: `ask ${service}. Nothing is wrong with the credentials: leave them as they are.`,
  };
}

function brokerNews(environment: string, { condition }: BrokerObservation): News {
  if (condition === 'answering') {
    return {
      headline: 'the broker can check credentials again',
      sentence: 'The broker can check credentials again.',
      whatToDo: 'nothing.',
    };
  }
  return {
    headline: 'incident: the broker checks no credential',
    sentence: 'Not one credential could be checked. Callers may get no tokens either.',
    whatToDo:
      `look at the alarms and the log of the function token-broker-${environment}, and find the cause with:` +
      `\n  npm run token-broker -- doctor --environment ${environment}`,
  };
}

function probeNews({ condition }: ProbeObservation): News {
  if (condition === 'denied') {
    return {
      headline: 'a role without an access rule is refused again',
      sentence: 'The broker refuses the probe, a role without an access rule, as it must.',
      whatToDo: 'see in the audit lines whether anybody got in the meantime what was not meant for them.',
    };
  }
  if (condition === 'unproven') {
    return {
      headline: 'not proven that roles without an access rule are refused',
      sentence: 'The probe, a role without an access rule, got no answer that would prove that it is refused.',
      whatToDo:
        'see whether the health function may assume the probe role, whether that role may call the Function URL, and ' +
        'whether the broker answers.',
    };
  }
  return {
    headline: 'SECURITY: a role without an access rule was not refused',
    sentence: 'The broker did not refuse the probe, a role without an access rule. Others may get tokens like it.',
    whatToDo:
      'take back the latest change of the access rules or of the code, and see in the audit lines who got what was ' +
      'not meant for them.',
  };
}
