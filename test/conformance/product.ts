/** The name of the program, with its version, in what it sends. */
export const PRODUCT = /\b(?:nginx|gw)(?:\/\d[\w.-]*)?/g;
