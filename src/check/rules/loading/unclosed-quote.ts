import type { Rule } from '../../rule.ts';

export const unclosedQuote: Rule = {
  id: 'GW104',
  slug: 'unclosed-quote',
  severity: 'error',
  summary: 'a quote that is never closed',
  why: 'The text up to the next quote, lines away, becomes one word.',
  fix: 'Close the quote on its line.',
  bad: { text: 'add_header X-Robots-Tag "noindex;' },
  good: { text: 'add_header X-Robots-Tag "noindex";' },
};
