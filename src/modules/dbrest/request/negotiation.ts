import { notAcceptable, notYet, schemaNotExposed } from '../fault/index.ts';

/** Throws PGRST107 unless the client takes JSON; without `Accept` it does. */
export function negotiateJson(accept: string | undefined): void {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return;
  const asked = accept.split(',').map((range) => range.trim());
  const takesJson = asked.some((range) => {
    const [type = '', ...parameters] = range.toLowerCase().split(/\s*;\s*/);
    const refused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter));
    return !refused && (type === '*/*' || type === 'application/*' || type === 'application/json');
  });
  if (!takesJson) throw notAcceptable(asked);
}

/** The schema that a profile header names, else the first of the allowlist. Throws PGRST106. */
export function chooseSchema(profile: string | undefined, exposed: readonly string[]): string {
  if (profile === undefined || profile === '') return exposed[0] as string;
  if (!exposed.includes(profile)) throw schemaNotExposed(profile, exposed);
  return profile;
}

/** Throws where a header asks for something that would change the answer and is not served yet. */
export function refuseUnserved({
  prefer,
  range,
}: {
  prefer: string | undefined;
  range: string | undefined;
}): void {
  if (range !== undefined) throw notYet('Ranges in headers are');
  if (prefer === undefined) return;
  for (const preference of prefer.split(',')) {
    const [name, value] = preference.trim().split('=');
    if (
      name === 'count' ||
      name === 'timezone' ||
      name === 'max-affected' ||
      (name === 'handling' && value === 'strict')
    ) {
      throw notYet(`The preference "${name}" is`);
    }
  }
}
