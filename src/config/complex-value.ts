/**
 * Text with variables, as plain data: `"hi $arg_n"` is `['hi ', { variable: 'arg_n' }]`. No variables: at most one string.
 * (nginx: complex value.) Names of variables are in lower case: nginx does not tell `$Host` from `$host`.
 */
export interface ComplexValue {
  readonly parts: readonly (string | { readonly variable: string } | { readonly capture: number })[];
}

/** The text of a value without variables, else `undefined`. */
export function constantText(value: ComplexValue): string | undefined {
  if (value.parts.length === 0) return '';
  const [only] = value.parts;
  return value.parts.length === 1 && typeof only === 'string' ? only : undefined;
}
