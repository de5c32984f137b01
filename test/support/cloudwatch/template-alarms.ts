import { type Alarm, alarmDefinition } from './alarm-definition.ts';
import { type Resources, resolve } from './resolve.ts';

/** The alarms of a template as CloudWatch gets them. */
export function alarmsOf({ template }: { readonly template: { readonly Resources: Resources } }): readonly Alarm[] {
  const { Resources } = template;
  const alarms = Object.values(Resources).filter(({ Type }) => Type === 'AWS::CloudWatch::Alarm');
  return alarms.map(({ Properties }) => alarmDefinition.parse(resolve(Properties, Resources)));
}
