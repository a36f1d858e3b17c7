import { schemaNotExposed } from '../fault/index.ts';

/** uWebSockets.js takes bytes above 0x7f for blanks, and drops them at both ends of a header's value. */
const DROPPED = /^[^!-\x7f]+|[^!-\x7f]+$/gu;

/** The schema that a profile header names, else the first of the allowlist. Throws PGRST106. */
export function chooseSchema(profile: string | undefined, exposed: readonly string[]): string {
  if (profile === undefined) return exposed[0] as string;
  if (exposed.includes(profile)) return profile;
  const [meant, ...others] = exposed.filter((name) => name.replace(DROPPED, '') === profile);
  if (meant === undefined || others.length > 0) throw schemaNotExposed(profile, exposed);
  return meant;
}
