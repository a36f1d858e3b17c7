import { schemaNotExposed } from '../fault/index.ts';

/** The schema that a profile header names, else the first of the allowlist. Throws PGRST106. */
export function chooseSchema(profile: string | undefined, exposed: readonly string[]): string {
  if (profile === undefined || profile === '') return exposed[0] as string;
  if (!exposed.includes(profile)) throw schemaNotExposed(profile, exposed);
  return profile;
}
