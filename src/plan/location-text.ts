import type { LocationMatch } from '../contract/index.ts';

/** A location as the configuration writes it, without its keyword: `= /a`, `^~ /b`, `~* \.png$`, `@c`. */
export function locationText(match: LocationMatch): string {
  switch (match.kind) {
    case 'exact':
      return `= ${match.path}`;
    case 'prefix':
      return match.stop ? `^~ ${match.path}` : match.path;
    case 'regex':
      return `${match.caseless ? '~*' : '~'} ${match.regex.pattern}`;
    case 'named':
      return match.name;
  }
}
