/** Installed without types, which the examples do without. */
declare module "express";
