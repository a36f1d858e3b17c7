import pc from 'picocolors';

/** Functions that colour a text, or give it back as it is. */
export type Paints = ReturnType<typeof pc.createColors>;

/** `isColored` must be a boolean: for `undefined` picocolors would decide for itself. */
export function paintsFor(isColored: boolean): Paints {
  return pc.createColors(isColored);
}

/** Whether a stream takes colours: a terminal does, unless `NO_COLOR` (no-color.org) or `FORCE_COLOR` says otherwise. */
export function takesColor(
  stream: { readonly isTTY?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const forced = env['FORCE_COLOR'] ?? '';
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}
