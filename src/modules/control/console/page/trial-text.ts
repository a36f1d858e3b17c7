import type { ApiResource, Trial } from '../contract.ts';

/** Returns the headers of a first trial, one per line: the schema, and a preference for the written rows. */
export function headerLines({ profile, kind }: ApiResource, method: string): string {
  const isRead = method === 'GET' || method === 'HEAD';
  const lines = [
    ...(profile === undefined ? [] : [`${isRead ? 'Accept' : 'Content'}-Profile: ${profile}`]),
    ...(kind === 'table' && !isRead ? ['Prefer: return=representation'] : []),
  ];
  return lines.join('\n');
}

/** Reads headers, one per line. Throws an `Error` that can be shown. */
export function readHeaderLines(text: string): Trial['headers'] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const [, name, value] = /^\s*([^\s:]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`"${line.trim()}" is no header`);
    return [name, value] as const;
  });
}

/** Reads claims as a JSON object; an empty text has no claims. Throws an `Error` that can be shown. */
export function readClaims(text: string): Trial['claims'] {
  if (text.trim() === '') return {};
  let claims: unknown;
  try {
    claims = JSON.parse(text);
  } catch {
    throw new Error('the claims are not valid JSON');
  }
  if (typeof claims === 'object' && claims !== null && !Array.isArray(claims))
    return claims as Trial['claims'];
  throw new Error('the claims must be a JSON object');
}
