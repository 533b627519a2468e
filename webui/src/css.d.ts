// Style sheets are bundled into page.css; importing one has no value.
declare module "*.css";
declare module "uplot.css";
