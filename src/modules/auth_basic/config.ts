import { constantText } from '../../config/index.ts';
import type { ComplexValue } from '../../config/index.ts';

/** Who may enter one location. */
export interface AuthBasicConfig {
  readonly realm?: ComplexValue;
  readonly userFile?: {
    readonly path: ComplexValue;
    /** Where a relative path starts. */
    readonly directory: string;
  };
}

/** `auth_basic off;` */
export function isOff(realm: ComplexValue): boolean {
  return constantText(realm) === 'off';
}
