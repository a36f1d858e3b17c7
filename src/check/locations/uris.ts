import type { Machine, Patterns } from '../regex/index.ts';

const PLAIN = '/\\x00-\\x1f\\x7f';
/** A segment of a path that is left when `.` and `..` are resolved. */
const SEGMENT = `(?:[^.${PLAIN}][^${PLAIN}]*|\\.[^.${PLAIN}][^${PLAIN}]*|\\.\\.[^${PLAIN}]+)`;

/** Decoded paths as requests bring them: slashes merged, dots resolved, no control characters. */
export function ordinaryUris(patterns: Patterns): Machine {
  return machineOf(`^(?:(?:/${SEGMENT})+/?|/)$`, patterns);
}

/** All decoded paths that a request can bring. */
export function allUris(patterns: Patterns): Machine {
  return machineOf('^/[^\\x00]*$', patterns);
}

function machineOf(text: string, patterns: Patterns): Machine {
  return patterns.of(text, false)?.language as Machine;
}
