/** With it, CloudFront says that a call came through it. */
export const EDGE_HEADER = 'x-parley-edge';
