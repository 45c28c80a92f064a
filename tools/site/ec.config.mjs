/** Code breaks, since a scrolled block is a region without a name. */
export default { defaultProps: { wrap: true } };
